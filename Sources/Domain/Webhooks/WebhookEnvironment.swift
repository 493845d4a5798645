/// The environment of the purchases whose events an endpoint gets. The raw value is Apple's word.
public enum WebhookEnvironment: String, Sendable, CaseIterable {
  case production = "Production"
  case sandbox = "Sandbox"
}
