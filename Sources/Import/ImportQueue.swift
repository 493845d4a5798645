public import Domain

/// Which rows of an import wait, which are under way, and how many have a result.
///
/// It needs no memory of its own: a new queue over the same rows goes on from the ledger's results, wherever the
/// process before it was killed. Nor does it keep the results: whoever wants them reads them in the ledger.
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

  /// A row in the queue.
  public struct Turn: Sendable, Equatable {
    /// Its place in the file.
    let position: Int32
    public let row: ImportRow
  }

  /// The most synchronizations under way. The rest of the publisher's limits stays to others.
  public static let mostOpen = 2000

  public let rows: ImportRows
  /// How many rows have a result.
  public private(set) var finished = 0
  private let round: Int
  /// How many rows, from the first one, nobody has looked up in the ledger yet.
  private var unknown: Int
  /// The next row is the last one: it is cheap to take.
  private var waiting: [Int32] = []
  private var held: [Int32] = []
  private var open: [SynchronizationId: (position: Int32, since: ContinuousClock.Instant)] = [:]

  /// Creates a queue of which nobody knows what earlier runs have done. No two of the rows have the same transaction.
  public init(_ rows: ImportRows, round: Int) {
    (self.rows, self.round, unknown) = (rows, round, rows.count)
    waiting.reserveCapacity(rows.count)
  }

  /// Whether every row has a result.
  public var isDone: Bool { finished == rows.count }
  /// The rows under way, by their ids.
  public var openIds: [SynchronizationId] { Array(open.keys) }

  /// Some rows that an earlier run may have finished, by their ids; empty once ``sort(_:)`` has got all.
  public func unknownIds(_ most: Int) -> [SynchronizationId] {
    (max(0, unknown - most)..<unknown).reversed().map(id(of:))
  }

  /// Lets rows wait, unless they have a result already.
  ///
  /// - Parameters:
  ///   - ids: those of ``unknownIds(_:)``.
  ///   - found: those of them that the ledger has finalized.
  public mutating func sort(_ ids: [SynchronizationId], _ found: Set<SynchronizationId>) {
    for id in ids {
      unknown -= 1
      if found.contains(id) { finished += 1 } else { waiting.append(Int32(unknown)) }
    }
  }

  private func id(of position: Int) -> SynchronizationId { rows[position].synchronizationId(round: round) }

  /// Takes the next row; `nil` if none waits, or enough are under way.
  public mutating func next() -> Turn? {
    guard open.count < Self.mostOpen, let position = waiting.popLast() else { return nil }
    return Turn(position: position, row: rows[Int(position)])
  }

  /// Takes some of the next rows, as many as may still begin; empty if none waits.
  public mutating func next(_ most: Int) -> [Turn] {
    var turns: [Turn] = []
    let room = min(most, Self.mostOpen - open.count)
    while turns.count < room, let turn = next() { turns.append(turn) }
    return turns
  }

  /// Notes what became of the row that was taken.
  public mutating func note(_ turn: Turn, _ answer: Answer, at now: ContinuousClock.Instant) {
    switch answer {
    case .open: open[turn.row.synchronizationId(round: round)] = (turn.position, now)
    case .held: held.append(turn.position)
    case .later: waiting.append(turn.position)
    }
  }

  /// Takes which of the rows under way the ledger has finalized.
  public mutating func take(_ found: some Sequence<SynchronizationId>) {
    for id in found where open.removeValue(forKey: id) != nil { finished += 1 }
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
      waiting.append(one.position)
    }
  }
}
