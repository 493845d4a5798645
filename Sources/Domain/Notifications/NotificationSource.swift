import Formats

/// What the ledger knows about Apple's notifications for one app of a publisher in one environment.
public struct NotificationSource: Sendable {
  /// Names an app of a publisher in one environment.
  public struct Key: Hashable, Sendable {
    public let publisherId: PublisherId
    public let bundleId: BundleId
    /// `Production` or `Sandbox`.
    public let environment: Environment

    /// Names a source.
    public init(publisherId: PublisherId, bundleId: BundleId, environment: Environment) {
      self.publisherId = publisherId
      self.bundleId = bundleId
      self.environment = environment
    }
  }

  public let key: Key
  /// The end of the last complete reading of Notification History, in milliseconds since 1970.
  public let readThrough: Int64?
  /// When Apple posted a notification last, in milliseconds since 1970.
  public let lastReceivedAt: Int64?
  /// The longest silence between two posts, in milliseconds.
  public let longestSilence: Int64?

  /// Creates a source.
  public init(
    _ key: Key, readThrough: Int64? = nil, lastReceivedAt: Int64? = nil, longestSilence: Int64? = nil
  ) {
    self.key = key
    self.readThrough = readThrough
    self.lastReceivedAt = lastReceivedAt
    self.longestSilence = longestSilence
  }

  /// When the app counts as silent if Apple posts nothing until then, in milliseconds since 1970.
  ///
  /// That is after twice its longest silence, and never within a day. An app without two notifications has no habit.
  public var silentFrom: Int64? {
    guard let lastReceivedAt, let longestSilence, longestSilence > 0 else { return nil }
    let patience = longestSilence.adding(longestSilence)
    return lastReceivedAt.adding(max(patience, .millisecondsOfDay))
  }

  /// Whether the app has been silent for longer than is its habit.
  public func isSilent(at now: Int64) -> Bool { silentFrom.map { $0 < now } ?? false }
}
