import Domain
import Import
import Testing

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
    mutating func run(_ rows: [ImportRow]) throws -> ImportQueue {
      var queue = ImportQueue(rows, round: 1)
      queue.take(results(queue.waitingIds))
      queue.leaveOutFinished()
      while !queue.isDone {
        while let row = queue.next() { queue.note(row, try register(row), at: .now) }
        work()
        try step()
        queue.take(results(queue.openIds))
        queue.tryHeld()
      }
      return queue
    }
  }

  private let rows = (1...7).map { number in
    ImportRow(line: number, customerId: "c\(number)", transactionId: TransactionId("\(number)"))
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
      #expect(queue.results.count == 7 && fleet.finalized.values.allSatisfy { $0 == 1 })
      #expect(Set(fleet.ledger.keys).subtracting(["other"]) == Set(whole.ledger.keys), "after \(steps) steps")
      // A third run finds everything done, without a step.
      fleet.steps = 0
      #expect(try fleet.run(rows).results == queue.results)
    }
  }

  @Test func `a row waits again if its claim failed, is held, or takes very long`() {
    var queue = ImportQueue(Array(rows.prefix(2)), round: 1)
    let now = ContinuousClock.now
    let first = queue.next()
    #expect(first == rows[0])
    queue.note(rows[0], .later, at: now)
    #expect(queue.next() == rows[0])
    queue.note(rows[0], .held, at: now)
    queue.tryHeld()
    // Others come first.
    #expect(queue.next() == rows[1])
    queue.note(rows[1], .open, at: now)
    #expect(queue.next() == nil)
    queue.tryHeld()
    #expect(queue.next() == rows[0])
    queue.note(rows[0], .open, at: now + .seconds(1))
    #expect(Set(queue.openIds).count == 2 && !queue.isDone)
    queue.tryOpen(since: now + .seconds(1))
    #expect(queue.next() == rows[1] && queue.next() == nil)
  }

  @Test func `only so many are under way`() {
    let many = (1...ImportQueue.mostOpen + 1).map {
      ImportRow(line: $0, customerId: "c", transactionId: TransactionId("\($0)"))
    }
    var queue = ImportQueue(many, round: 1)
    for row in many.dropLast() {
      #expect(queue.next() == row)
      queue.note(row, .open, at: .now)
    }
    #expect(queue.next() == nil)
    queue.take([many[0].synchronizationId(round: 1): SynchronizationResult(.purchaseSynchronized)])
    #expect(queue.next() == many.last)
  }
}
