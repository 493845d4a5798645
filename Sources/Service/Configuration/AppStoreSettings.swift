import Formats

/// The workers' way to Apple, and the certificates that they trust.
public struct AppStoreSettings: Sendable {
  public var productionURL: String
  public var sandboxURL: String
  /// Files with the roots that signatures must chain to; empty means Apple's own, which are built in.
  public var rootFiles: [String]
  /// PEM file with the authorities for Apple's TLS; `nil` means the system's.
  public var caFile: String?
  /// Time for one call.
  public var timeout: Duration
  /// A longer answer is an error.
  public var maxResponseBytes: Int
  /// Connections to each of Apple's hosts; calls share them by HTTP/2.
  public var maxConnections: Int
  /// The whole fleet's budget for each app, environment and endpoint, as a factor of Apple's limit.
  public var budgetScale: Double

  init(_ reader: SettingsReader) {
    func url(_ key: String, _ fallback: String, _ meaning: String) -> String {
      // The URL might hold a password.
      let text = reader.string(key, fallback, meaning, isSecret: true)
      let url = ServerURL(text)
      if url?.scheme != "https" { reader.note(key, "expected an https:// URL") }
      // Apple knows no password. The errors of calls name the host as it stands here.
      if url?.user != nil { reader.note(key, "expected an https:// URL without a user or a password") }
      return text.hasSuffix("/") ? String(text.dropLast()) : text
    }
    productionURL = url(
      "appStore.productionURL", "https://api.storekit.apple.com", "Base URL of the App Store Server API.")
    sandboxURL = url(
      "appStore.sandboxURL", "https://api.storekit-sandbox.apple.com",
      "Base URL of the App Store Server API's sandbox.")
    rootFiles = reader.strings(
      "appStore.rootFiles", [], "Root certificates (DER or PEM) that signatures must chain to, instead of Apple's."
    ).map(reader.resolve)
    caFile = reader.optionalPath(
      "appStore.caFile", "PEM file of certificate authorities for Apple's TLS, instead of the system's.")
    timeout = reader.seconds("appStore.timeoutSeconds", 30, 0.1...300, "How long one call to Apple may take.")
    maxResponseBytes = Int(
      reader.int(
        "appStore.maxResponseBytes", 1 << 20, 1024...(64 << 20),
        "Longest answer from Apple, in bytes. A longer one is an error."))
    maxConnections = Int(
      reader.int(
        "appStore.maxConnections", 4, 1...50,
        "Connections of one process to each of Apple's hosts. Calls share them by HTTP/2."))
    budgetScale = reader.factor(
      "appStore.budgetScale", 1, 0.001...10_000,
      "Budget of the whole fleet for each app and endpoint, as a factor of what Apple allows.")
  }
}
