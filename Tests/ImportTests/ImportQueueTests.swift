import Domain
import Testing

@testable import Import

/// An import that is killed at any moment and run again.
struct ImportQueueTests {
  private struct Killed: Error {}

  /// The fleet, as far as an import sees it. Each step may be the last one of the process.
  private struct Fleet {
    /// The steps that the process still makes.
    var steps = Int.max
    /// Open synchronizations by the transactions that they hold.
    var open: [TransactionId: SynchronizationId] = [:]
    /// Those whose jobs a queue has.
    var jobs: Set<SynchronizationId> = []
    var ledger: [SynchronizationId: SynchronizationResult] = [:]
    /// How often each was finalized.
    var finalized: [SynchronizationId: Int] = [:]

    private mutating func step() throws {
      guard steps > 0 else { throw Killed() }
      steps -= 1
    }

    /// Claims a transaction and publishes its job, as ``ImportRun`` does.
    mutating func register(_ row: ImportRow) throws -> ImportQueue.Answer {
      let id = row.synchronizationId(round: 1)
      try step()
      if let holder = open[row.transactionId] { return holder == id ? .open : .held }
      open[row.transactionId] = id
      try step()
      jobs.insert(id)
      try step()
      return .open
    }

    /// The workers run every job. A sweep gives a job to each open synchronization that has none.
    mutating func work() {
      jobs.formUnion(open.values)
      for id in jobs where ledger[id] == nil {
        ledger[id] = SynchronizationResult(.purchaseSynchronized)
        finalized[id, default: 0] += 1
      }
      (jobs, open) = ([], [:])
    }

    func results(_ ids: [SynchronizationId]) -> [SynchronizationId: SynchronizationResult] {
      Dictionary(uniqueKeysWithValues: ids.compactMap { id in ledger[id].map { (id, $0) } })
    }

    /// Runs an import as a process of its own.
    mutating func run(_ rows: ImportRows) throws -> ImportQueue {
      var queue = ImportQueue(rows, round: 1)
      // The ledger is asked for three rows at once.
      while case let ids = queue.unknownIds(3), !ids.isEmpty { queue.sort(ids, Set(results(ids).keys)) }
      while !queue.isDone {
        while let turn = queue.next() { queue.note(turn, try register(turn.row), at: .now) }
        work()
        try step()
        queue.take(results(queue.openIds).keys)
        queue.tryHeld()
      }
      return queue
    }
  }

  private func taken(_ queue: inout ImportQueue) throws -> ImportQueue.Turn {
    let turn = queue.next()
    return try #require(turn)
  }

  private let rows = ImportQueueTests.rows(7)

  private static func rows(_ count: Int) -> ImportRows {
    var rows = ImportRows()
    for number in 1...count {
      rows.append(ImportRow(line: number, customerId: "c\(number)", transactionId: TransactionId("\(number)")))
    }
    return rows
  }

  /// A queue of a first run.
  private func queue(_ count: Int) -> ImportQueue {
    var queue = ImportQueue(Self.rows(count), round: 1)
    queue.sort(queue.unknownIds(count), [])
    return queue
  }

  @Test func `rows are taken some at a time, and never more than may be under way`() {
    var queue = queue(ImportQueue.mostOpen + 3)
    let first = queue.next(5)
    #expect(first.map(\.row.line) == [1, 2, 3, 4, 5])
    for turn in first { queue.note(turn, .open, at: .now) }
    let rest = queue.next(.max)
    #expect(rest.count == ImportQueue.mostOpen - 5)
    for turn in rest { queue.note(turn, .open, at: .now) }
    let none = queue.next(5)
    #expect(none.isEmpty && queue.openIds.count == ImportQueue.mostOpen)
  }

  @Test func `wherever it is killed, the next run ends it, and each row is finalized once`() throws {
    var whole = Fleet()
    _ = try whole.run(rows)
    #expect(whole.ledger.count == 7)
    for steps in 0..<24 {
      var fleet = Fleet()
      // Somebody else verifies one of the transactions meanwhile.
      fleet.open["3"] = "other"
      fleet.steps = steps
      #expect(throws: Killed.self) { try fleet.run(rows) }
      fleet.steps = .max
      let queue = try fleet.run(rows)
      #expect(queue.finished == 7 && fleet.finalized.values.allSatisfy { $0 == 1 })
      #expect(Set(fleet.ledger.keys).subtracting(["other"]) == Set(whole.ledger.keys), "after \(steps) steps")
      // A third run finds everything done, without a step.
      fleet.steps = 0
      #expect(try fleet.run(rows).isDone)
    }
  }

  @Test func `a row waits again if its claim failed, is held, or takes very long`() throws {
    var queue = self.queue(2)
    let now = ContinuousClock.now
    let first = try taken(&queue)
    #expect(first.row == rows[0])
    queue.note(first, .later, at: now)
    #expect(queue.next() == first)
    queue.note(first, .held, at: now)
    queue.tryHeld()
    // Others come first.
    let second = try taken(&queue)
    #expect(second.row == rows[1])
    queue.note(second, .open, at: now)
    #expect(queue.next() == nil)
    queue.tryHeld()
    #expect(queue.next() == first)
    queue.note(first, .open, at: now + .seconds(1))
    #expect(Set(queue.openIds).count == 2 && !queue.isDone)
    queue.tryOpen(since: now + .seconds(1))
    #expect(queue.next() == second && queue.next() == nil)
  }

  @Test func `only so many are under way`() throws {
    var queue = self.queue(ImportQueue.mostOpen + 1)
    for number in 1...ImportQueue.mostOpen {
      let turn = try taken(&queue)
      #expect(turn.row.line == number)
      queue.note(turn, .open, at: .now)
    }
    #expect(queue.next() == nil)
    queue.take([rows[0].synchronizationId(round: 1)])
    #expect(queue.next()?.row.line == ImportQueue.mostOpen + 1)
  }
}
