/// Decides how fast a subscriber gets its events. A state machine by value; each process has its own.
///
/// For example, the queue of a subscriber has no majority, so the broker confirms nothing. After the first event
/// without an answer the subscriber gets one event at a time, with growing pauses. All other events wait in the
/// ledger.
///
/// A queue that refuses is something else: the broker answers, and other queues behind the same exchange have the
/// event. So each new event is still published once. Only what was refused is tried again with pauses.
public struct SubscriberPace: Sendable, Equatable {
  /// The most events of which the broker's answer is awaited.
  public static let window = 1000
  /// The most events of the ledger that are published again at a time.
  public static let mostAgain = 500
  /// After this time without an answer, an event waits in the ledger.
  public static let patience = Duration.seconds(4)

  /// The events of which the broker's answer is awaited.
  public private(set) var underWay = 0
  /// How often there was no answer since the last one.
  private var silences = 0
  private var silentUntil: ContinuousClock.Instant?
  /// How often a retry brought nothing, since one that did.
  private var refusedRetries = 0
  private var retryFrom: ContinuousClock.Instant?
  private var hopesUntil: ContinuousClock.Instant?
  private static let hope = Duration.seconds(60)
  /// How many events the next retry may have.
  private var batch = Self.mostAgain

  /// Creates the pace of a subscriber that has had no event yet.
  public init() {}

  /// What the broker said about an event.
  public enum Answer: Sendable, Equatable {
    case confirmed
    /// No queue is bound for it.
    case unrouted
    /// The broker has refused it.
    case refused
    /// There was no answer in time, or the connection has ended.
    case none
  }

  /// Whether an event may be published now. Otherwise it waits in the ledger.
  public func mayPublish(at now: ContinuousClock.Instant) -> Bool { room(at: now) > 0 }

  /// How many events may be published now.
  private func room(at now: ContinuousClock.Instant) -> Int {
    if let silentUntil, now < silentUntil { return 0 }
    return max(0, (silences > 0 ? 1 : Self.window) - underWay)
  }

  /// How many events of the ledger may be published again now.
  public func retries(at now: ContinuousClock.Instant) -> Int {
    if let retryFrom, now < retryFrom { return 0 }
    return min(room(at: now), batch)
  }

  /// Notes a new connection: what kept the broker from answering before may be over.
  public mutating func connected(at now: ContinuousClock.Instant) {
    (silences, silentUntil, refusedRetries, retryFrom) = (0, nil, 0, nil)
    hopesUntil = now + Self.hope
  }

  /// Whether an event that no queue takes is owed. For a minute after a new connection it is, until a queue takes
  /// one: a broker that was wiped has the exchange again at once, and the queue only when its service comes back.
  public func expectsQueue(at now: ContinuousClock.Instant) -> Bool { hopesUntil.map { now < $0 } ?? false }

  /// Notes that an event goes to the broker.
  public mutating func begin() { underWay += 1 }

  /// Notes the answer about an event.
  public mutating func end(_ answer: Answer, at now: ContinuousClock.Instant) {
    underWay -= 1
    switch answer {
    case .confirmed: (silences, silentUntil, hopesUntil) = (0, nil, nil)
    case .refused, .unrouted: (silences, silentUntil) = (0, nil)
    case .none:
      // The events before the first silence may stay without an answer, too. They are one silence.
      if let silentUntil, now < silentUntil { return }
      silences += 1
      silentUntil = now + Self.doubled(.seconds(1), silences, atMost: .seconds(30))
    }
  }

  /// Notes the end of a retry.
  ///
  /// - Parameter confirmed: how many of its events the broker has confirmed.
  public mutating func endRetry(confirmed: Int, at now: ContinuousClock.Instant) {
    guard confirmed == 0 else {
      (refusedRetries, retryFrom) = (0, nil)
      batch = min(Self.mostAgain, batch * 4)
      return
    }
    refusedRetries += 1
    retryFrom = now + Self.doubled(.seconds(1), refusedRetries, atMost: .seconds(60))
    batch = 1
  }

  /// Doubles from the first to the next ones.
  private static func doubled(_ first: Duration, _ number: Int, atMost most: Duration) -> Duration {
    min(most, first * Double(1 << min(max(0, number - 1), 10)))
  }

  /// Whether an event that no queue is bound for is owed no longer: for some minutes nobody wanted it. Before, somebody
  /// may have been replacing the queue, or a wiped broker has lost it.
  public static func isUnwanted(afterTries tries: Int) -> Bool { tries >= 8 }

  /// How long a single event waits after it was refused, so that one that can never be taken does not stand before the
  /// others: from 5 s to 2 minutes.
  public static func pause(afterTries tries: Int) -> Duration {
    doubled(.seconds(5), tries, atMost: .seconds(120))
  }
}
