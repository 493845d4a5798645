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
  public func forwards(in environment: Environment) -> [EndpointId] {
    forwards.filter { $0.environment.map { $0.name == environment } ?? true }.map(\.id)
  }

  /// Whether what Notification History had is still passed on: nobody has got it, and Apple might still try. An app
  /// that is read for the first time has half a year of history, which nobody waits for.
  ///
  /// - Parameters:
  ///   - signedDate: when Apple signed, in milliseconds since 1970.
  ///   - now: milliseconds since 1970.
  public static func forwardsFound(_ signedDate: Int64, now: Int64) -> Bool {
    signedDate >= now.adding(-HistoryPlan.overlap)
  }

  /// Returns a forward by its id.
  public func forward(_ id: EndpointId) -> NotificationForward? { forwards.first { $0.id == id } }
}
