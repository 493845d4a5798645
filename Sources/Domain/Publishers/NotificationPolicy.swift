/// What a publisher decides about Apple's notifications.
public struct NotificationPolicy: Sendable, Equatable {
  /// SHA-256 of each shared secret of App Store Connect. Notifications of version 1 carry one; they are not signed.
  public var sharedSecretHashes: [[UInt8]]

  /// Creates a policy.
  public init(sharedSecretHashes: [[UInt8]] = []) { self.sharedSecretHashes = sharedSecretHashes }
}
