extension WebhookEndpoint {
  /// The reason why a process cannot read the stored keys of an endpoint.
  public struct SecretsDefect: Sendable, Equatable {
    /// What is wrong.
    public enum Cause: String, Sendable, CaseIterable {
      /// The process lacks the key under which they were encrypted.
      case missingKey = "missing_key"
      /// They were encrypted for another endpoint or with another key of the same id, or somebody changed them.
      case notAuthentic = "not_authentic"
      /// They are plain text, and the process takes no plain text.
      case plainText = "plain_text"
    }

    public var cause: Cause
    /// The id of the key under which they were encrypted; `nil` for plain text.
    public var keyId: String?

    /// Creates a defect.
    public init(_ cause: Cause, keyId: String?) {
      self.cause = cause
      self.keyId = keyId
    }
  }
}
