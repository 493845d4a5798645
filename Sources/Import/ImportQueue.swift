public import Domain

/// Which rows of an import wait, which are under way, and which have a result.
///
/// It needs no memory of its own: a new queue over the same rows goes on from the ledger's results, wherever the process
/// before it was killed.
public struct ImportQueue: Sendable {
  /// What became of a try to register a row.
  public enum Answer: Sendable {
    /// Its synchronization is under way, by this run or by an earlier one.
    case open
    /// Another synchronization holds its transaction.
    case held
    /// A limit is reached, or a server has failed.
    case later
  }

  /// The most synchronizations under way. The rest of the publisher's limits stays to others.
  public static let mostOpen = 2000

  /// How many rows there are.
  public let total: Int
  /// By the ids of the rows' synchronizations.
  public private(set) var results: [SynchronizationId: SynchronizationResult] = [:]
  private let round: Int
  /// The next row is the last one: it is cheap to take.
  private var waiting: [ImportRow]
  private var held: [ImportRow] = []
  private var open: [SynchronizationId: (row: ImportRow, since: ContinuousClock.Instant)] = [:]

  /// Creates a queue in which all rows wait. No two of them have the same customer and transaction.
  public init(_ rows: [ImportRow], round: Int) {
    (total, self.round) = (rows.count, round)
    waiting = rows.reversed()
  }

  /// Whether every row has a result.
  public var isDone: Bool { results.count == total }
  /// The rows that wait, by their ids.
  public var waitingIds: [SynchronizationId] { waiting.map { $0.synchronizationId(round: round) } }
  /// The rows under way, by their ids.
  public var openIds: [SynchronizationId] { Array(open.keys) }

  /// Takes the next row; `nil` if none waits, or enough are under way.
  public mutating func next() -> ImportRow? { open.count < Self.mostOpen ? waiting.popLast() : nil }

  /// Notes what became of the row that was taken.
  public mutating func note(_ row: ImportRow, _ answer: Answer, at now: ContinuousClock.Instant) {
    switch answer {
    case .open: open[row.synchronizationId(round: round)] = (row, now)
    case .held: held.append(row)
    case .later: waiting.append(row)
    }
  }

  /// Takes what the ledger has finalized, by this run or by an earlier one.
  public mutating func take(_ found: [SynchronizationId: SynchronizationResult]) {
    results.merge(found) { one, _ in one }
    for id in found.keys { open[id] = nil }
  }

  /// Lets go of waiting rows that have a result.
  public mutating func leaveOutFinished() {
    waiting.removeAll { results[$0.synchronizationId(round: round)] != nil }
  }

  /// Lets rows wait again whose transactions were held, once no other row waits.
  public mutating func tryHeld() {
    if waiting.isEmpty { (waiting, held) = (held, []) }
  }

  /// Lets a row wait again that takes very long. If the servers have forgotten it, it would never end, and otherwise
  /// another registration changes nothing.
  public mutating func tryOpen(since time: ContinuousClock.Instant) {
    for (id, one) in open where one.since < time {
      open[id] = nil
      waiting.append(one.row)
    }
  }
}
