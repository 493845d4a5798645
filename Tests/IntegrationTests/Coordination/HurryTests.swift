import Coordination
import Domain
import EventLoop
import Fleets
import Redis
import ServerSupport
import TestSupport
import Testing

/// Jobs that a person does not let wait, and the messages of their earlier runs, in a real Redis.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct HurryTests {
  private let hour = CoordinationOnRedis.hour

  private func job(_ id: String = "s", transaction: TransactionId = "100", publisher: PublisherId = 1) -> Job {
    CoordinationOnRedis.job(SynchronizationId(id), transaction: transaction, publisher: publisher)
  }

  /// Lets a run of a job fail, so that the job waits for an hour.
  private func fail(_ test: CoordinationOnRedis, _ job: Job, run: Int64 = 0) async throws {
    guard case .taken(let lease) = try await test.leases.take(job, for: hour, sweepAfter: hour, run: run) else {
      throw NeverHappened(description: "a lease")
    }
    try await test.leases.release(
      job, lease, isRetrying: true, sweepAfter: hour, route: "app|Production", cause: .appleError)
  }

  private func due(_ test: CoordinationOnRedis) async throws -> [DueJob] {
    try await test.open.dueJobs(limit: 10, lookAgainAfter: hour, overdueBy: hour, doors: DoorCatalog()).jobs
  }

  private func all(_ test: CoordinationOnRedis) async throws -> [OpenJob] {
    let page = try await test.open.page(.usual, doors: DoorCatalog())
    #expect(page.next == nil)
    return page.jobs
  }

  @Test func `a page tells what waits, why and where`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      #expect(try await all(test).isEmpty)
      #expect(try await test.claim(job("new", transaction: "101")) == .claimed)
      try await fail(test, job())
      let jobs = try await all(test).sorted { $0.job.synchronizationId.text < $1.job.synchronizationId.text }
      #expect(jobs.map(\.job) == [job("new", transaction: "101"), job()])
      #expect(jobs.map(\.status) == [.processing, .retrying])
      #expect(jobs.map(\.cause) == [nil, .appleError])
      #expect(jobs.map(\.place) == [nil, "app|Production"])
    }
  }

  @Test func `of many pages each open synchronization is on one at least`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let names = (0..<1500).map { "s\($0)" }
      for name in names {
        #expect(try await test.claim(job(name, transaction: TransactionId("9\(name.dropFirst())"))) == .claimed)
      }
      var (found, start, pages): (Set<String>, String?, Int) = ([], "0", 0)
      while let from = start {
        let page = try await test.open.page(.usual, from: from, doors: DoorCatalog())
        found.formUnion(page.jobs.map(\.job.synchronizationId.text))
        (start, pages) = (page.next, pages + 1)
      }
      #expect(found == Set(names))
      #expect(pages > 1)
    }
  }

  @Test func `a hurried job is due at once, and drops earlier runs when it has arrived`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await fail(test, job())
      #expect(try await due(test).isEmpty)
      #expect(try await test.open.hurry(all(test)) == 1)
      #expect(try await due(test) == [DueJob(job(), run: 1, isHurried: true)])
      #expect(try await due(test).isEmpty)
      try await fail(test, job(), run: 1)
      #expect(try await test.open.hurry(all(test)) == 1)
      #expect(try await due(test) == [DueJob(job(), run: 2, isHurried: true)])
      // Nobody knows yet whether the broker has the new message. Until it arrives, the earlier one counts.
      try await fail(test, job(), run: 1)
      try await fail(test, job(), run: 2)
      #expect(try await test.leases.take(job(), for: hour, sweepAfter: hour, run: 1) == .superseded)
    }
  }

  @Test func `publishers take turns, however many jobs each of them has`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      // More than one script hurries at once.
      for number in 0..<510 { try await fail(test, job("a\(number)", transaction: TransactionId("1\(number)"))) }
      for number in 0..<3 {
        try await fail(test, job("b\(number)", transaction: TransactionId("2\(number)"), publisher: 20))
      }
      try await fail(test, job("c", publisher: 3))
      var waiting: Set<OpenJob.Name> = []
      try await test.open.forEachPage(doors: DoorCatalog()) { waiting.formUnion($0.map(\.name)) }
      #expect(try await test.open.hurry(waiting.sorted { $0.publisherId < $1.publisherId }) == 514)
      let found = try await due(test)
      #expect(found.map(\.job.publisherId) == [1, 20, 3, 1, 20, 1, 20, 1, 1, 1])
      #expect(found.allSatisfy { $0.isHurried })
      // Another person's jobs do not wait for the rest of these.
      try await fail(test, job("later", publisher: 4))
      #expect(try await test.open.hurry([OpenJob.Name(lane: .usual, publisherId: 4, synchronizationId: "later")]) == 1)
      #expect(try await due(test).map(\.job.publisherId).first == 4)
    }
  }

  @Test func `a message without a number is never dropped, for it may be an older worker's`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await fail(test, job(), run: 2)
      try await fail(test, job())
      #expect(try await test.open.hurry(all(test)) == 1)
      #expect(try await due(test) == [DueJob(job(), run: 3, isHurried: true)])
    }
  }

  @Test func `what is not retrying cannot be hurried`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      #expect(try await test.claim(job()) == .claimed)
      #expect(try await test.open.hurry(all(test)) == 0)
      #expect(try await test.open.hurry([OpenJob]()) == 0)
      #expect(try await due(test).isEmpty)
    }
  }

  @Test func `a run outlives the loss of its record`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await fail(test, job(), run: 3)
      #expect(try await test.leases.take(job(), for: hour, sweepAfter: hour, run: 2) == .superseded)
      guard case .taken = try await test.leases.take(job(), for: hour, sweepAfter: hour, run: 3) else {
        throw NeverHappened(description: "a lease")
      }
    }
  }

  @Test func `a job of a later run comes out of the line with its run`() async throws {
    let place = CallPlace(
      bundleId: "app", environment: "Production", budgets: [CallBudget(endpoint: "info", perSecond: 1000)])
    try await CoordinationOnRedis.with { test async throws in
      let answer = try await test.leases.take(
        job(), for: hour, sweepAfter: hour, places: [place], mayCall: false, run: 5)
      guard case .inLine = answer else { throw NeverHappened(description: "a place in the line") }
      let found = try await CallLine(test.redis, prefix: test.prefix).next(
        LineAllowances(all: 10), for: hour, doors: DoorCatalog())
      #expect(found.jobs.map(\.run) == [5])
    }
  }
}
