/// The copy of a job that stays at the broker while the job waits in the line.
///
/// If Redis loses the line, or the worker dies that the line gave the job to, the copy comes back and runs. Otherwise
/// it comes back behind the end of the synchronization, and goes. A job has one copy: an earlier one that comes back is
/// dropped.
public struct JobCopy: Sendable, Equatable {
  /// Names it, if the job joins the line.
  public let id: String
  /// Whether the delivery in hand is the copy.
  public let isDelivered: Bool

  /// Names the copy that the broker has delivered.
  public init(delivered id: String) { (self.id, isDelivered) = (id, true) }

  /// Names a copy that does not exist yet. No two have the same name.
  public init() { (id, isDelivered) = (String(UInt64.random(in: 0...UInt64.max), radix: 36), false) }

  /// When a copy comes back: some time after the last job of the line should have had its turn.
  ///
  /// - Parameter expected: how long the last job of the line waits, if nobody else comes.
  public static func returns(after expected: Duration) -> Duration {
    min(expected * 3 / 2 + .seconds(5), longest)
  }

  /// How long Redis tells a copy that its synchronization is finalized: longer than any copy is away.
  static let lasts = Duration.seconds(2400)

  /// A copy that comes back too early goes back for as long again.
  private static let longest = Duration.seconds(1800)

  /// Lua: the most milliseconds until a copy is back, where `wait` is the expected wait. The delay queues are up to six
  /// times as long as was asked.
  static func latestReturn(_ wait: String) -> String { "math.min(6 * (1.5 * \(wait) + 5000), 1800000)" }
}
