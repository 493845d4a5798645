import Formats

/// What a publisher decides about Apple's notifications.
public struct NotificationPolicy: Sendable, Equatable {
  /// SHA-256 of each shared secret of App Store Connect. Notifications of version 1 carry one; they are not signed.
  public var sharedSecretHashes: [[UInt8]]
  /// The URLs that get the notifications, too.
  public var forwards: [NotificationForward]

  /// Creates a policy.
  public init(sharedSecretHashes: [[UInt8]] = [], forwards: [NotificationForward] = []) {
    self.sharedSecretHashes = sharedSecretHashes
    self.forwards = forwards
  }

  /// The ids of the URLs that get the notifications of an environment, in Apple's word.
  public func forwards(in environment: String) -> [String] {
    forwards.filter { $0.environment.map { $0.rawValue.exact == environment.exact } ?? true }.map(\.id)
  }

  /// Returns a forward by its id.
  public func forward(_ id: String) -> NotificationForward? { forwards.first { $0.id.exact == id.exact } }
}
