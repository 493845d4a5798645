import Formats

/// Decides when an app's Notification History is read, and from when on.
///
/// For example, with an interval of an hour: the last complete reading ended at 12:00 on Friday. The next one begins
/// some minutes after 13:00, and reads everything since 12:00 on Tuesday.
public struct HistoryPlan: Sendable {
  /// The time between two readings, in milliseconds.
  public let interval: Int64

  /// Creates a plan.
  public init(interval: Int64) { self.interval = interval }

  /// Each reading goes back so far behind the end of the one before: Apple tries for three days to deliver.
  public static let overlap = 3 * Int64.millisecondsOfDay
  /// A request for all that Apple has would be refused if Apple's clock is ahead of ours.
  private static let margin: Int64 = 600_000

  /// The part of the history that a reading asks for, in milliseconds since 1970.
  public struct Range: Sendable, Equatable {
    public let start: Int64
    public let end: Int64
  }

  /// How far back Apple's history goes: 180 days, and 30 in the sandbox.
  public static func reach(in environment: Environment) -> Int64 {
    (environment == .production ? 180 : 30) * .millisecondsOfDay
  }

  /// Whether the history must be read now.
  ///
  /// - An app that nobody has read: at once.
  /// - Otherwise an interval after the last reading. After an outage, that time has passed, and it is read at once.
  /// - An app that has just fallen silent: at once. Its notifications may go elsewhere.
  public func isDue(_ source: NotificationSource, now: Int64) -> Bool {
    guard let readThrough = source.readThrough else { return true }
    if let silent = source.silentFrom, readThrough < silent, silent < now { return true }
    return readThrough.adding(interval).adding(share(of: interval / 10, source)) <= now
  }

  /// Returns what to read.
  public func range(of source: NotificationSource, now: Int64) -> Range {
    let oldest = now.adding(Self.margin - Self.reach(in: source.key.environment))
    return Range(start: max(oldest, source.readThrough?.adding(-Self.overlap) ?? oldest), end: now)
  }

  /// A part of a time, always the same one for a source: many apps are not read in one second.
  private func share(of time: Int64, _ source: NotificationSource) -> Int64 {
    let key = source.key
    return Spread.share(of: time, for: [key.environment.text, key.bundleId.text, String(key.publisherId)])
  }
}
