import Coordination
import Domain
import EventLoop
import Fleets
import Redis
import ServerSupport
import TestSupport
import Testing

/// The lines of jobs in bulk, and who may take jobs out of a line, in a real Redis.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct BulkLineTests {
  private let hour = CoordinationOnRedis.hour
  private let place = CallPlace(
    bundleId: "app", environment: "Production", budgets: [CallBudget(endpoint: "info", perSecond: 0.001)])

  private func job(_ number: Int, publisher: PublisherId = 1, _ lane: JobLane = .bulk) -> Job {
    CoordinationOnRedis.job(
      SynchronizationId("\(lane)\(number)"), customer: "7", transaction: TransactionId("\(publisher)0\(number)"),
      publisher: publisher, lane: lane)
  }

  private func take(_ test: CoordinationOnRedis, _ job: Job, mayCall: Bool = true) async throws -> LeaseAnswer {
    try await test.leases.take(job, for: hour, sweepAfter: hour, places: [place], mayCall: mayCall)
  }

  private func join(_ test: CoordinationOnRedis, _ job: Job, mayCall: Bool = true) async throws {
    guard case .inLine = try await take(test, job, mayCall: mayCall) else {
      throw NeverHappened(description: "a place in the line")
    }
  }

  /// Gives all calls back, so that the budget is full.
  private func refill(_ test: CoordinationOnRedis) async throws {
    _ = try await test.redis.send(["DEL", test.prefix + "budgets"])
    try await lookAgain(test)
  }

  /// Lets the next look find all lines.
  private func lookAgain(_ test: CoordinationOnRedis) async throws {
    for (set, line) in [("lines", place.name.text), ("lines:bulk", "\(place.name)||bulk")] {
      _ = try await test.redis.send(["ZADD", test.prefix + set, "XX", "0", line])
    }
  }

  private func next(
    _ test: CoordinationOnRedis, _ allowances: LineAllowances = LineAllowances(all: 50)
  ) async throws -> [String] {
    try await CallLine(test.redis, prefix: test.prefix).next(allowances, for: hour, doors: DoorCatalog()).jobs
      .map(\.job.synchronizationId.text)
  }

  /// Allowances with a rest for some publishers, of which as many may be in bulk.
  private func allowances(_ publishers: [PublisherId: Int], others: Int = 50) -> LineAllowances {
    LineAllowances(
      all: 50, bulk: 50, others: LineAllowances.Left(all: others, bulk: others),
      publishers: publishers.mapValues { LineAllowances.Left(all: $0, bulk: $0) })
  }

  private func count(_ test: CoordinationOnRedis, _ lane: JobLane) async throws -> Int {
    try await CallLine(test.redis, prefix: test.prefix).count(lane)
  }

  @Test func `bulk waits in a line of its own, and comes after all others`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      // A budget of one call for a long time.
      guard case .granted = try await test.budgets.takeCall(place) else { throw NeverHappened(description: "a call") }
      try await join(test, job(1), mayCall: false)
      try await join(test, job(2, .usual))
      try await join(test, job(3))
      #expect(try await [count(test, .bulk), count(test, .usual)] == [2, 1])
      try await refill(test)
      // The usual job takes the budget's call, and one in bulk that of its own part.
      #expect(try await next(test) == ["usual2", "bulk1"])
      try await lookAgain(test)
      #expect(try await next(test).isEmpty)
      #expect(try await count(test, .bulk) == 1)
    }
  }

  @Test func `a worker without places for bulk gets none`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await join(test, job(1), mayCall: false)
      try await refill(test)
      #expect(
        try await next(
          test, LineAllowances(all: 50, bulk: 0, others: LineAllowances.Left(all: 50, bulk: 50))
        ).isEmpty)
      #expect(try await next(test) == ["bulk1"])
      #expect(try await test.keys().filter { $0.hasPrefix(test.prefix + "line") }.isEmpty)
    }
  }

  @Test func `bulk takes calls at once only while nobody is in the line`() async throws {
    func taken(_ test: CoordinationOnRedis, _ job: Job) async throws -> Bool {
      let answer = try await take(test, job)
      if case .taken(let lease) = answer { return lease.call != nil }
      return false
    }
    try await CoordinationOnRedis.with { test async throws in
      #expect(try await taken(test, job(1)))
      try await join(test, job(2, .usual), mayCall: false)
      // The first one is of bulk's own part.
      #expect(try await taken(test, job(3)))
      for number in 4...6 { #expect(try await !taken(test, job(number))) }
      #expect(try await self.count(test, .bulk) == 3)
    }
  }

  @Test func `a job that may not call joins the line, though a call is free`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await join(test, job(1, .usual), mayCall: false)
      guard case .granted = try await test.budgets.takeCall(place) else { throw NeverHappened(description: "a call") }
    }
  }

  @Test func `a job that needs no call runs without a place`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let answer = try await test.leases.take(job(1, .usual), for: hour, sweepAfter: hour, places: [], mayCall: false)
      guard case .taken(let lease) = answer else { throw NeverHappened(description: "a lease") }
      #expect(lease.call == nil)
    }
  }

  @Test func `looks that usual jobs fill do not keep bulk out`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      for number in 1...3 { try await join(test, job(number, .usual), mayCall: false) }
      for number in 4...5 { try await join(test, job(number), mayCall: false) }
      try await widen(test)
      #expect(try await next(test, LineAllowances(all: 2)) == ["usual1", "usual2", "bulk4"])
    }
  }

  /// Lets the waiting jobs have all calls that they want.
  private func widen(_ test: CoordinationOnRedis) async throws {
    for line in [place.name.text, "\(place.name)||bulk"]
    where try await test.redis.send(["EXISTS", test.prefix + "line:" + line]).integer == 1 {
      _ = try await test.redis.send(["HSET", test.prefix + "line:" + line, "budgets", "info 1000"])
    }
    try await refill(test)
  }

  /// Lets publishers 1 to 3 wait with some jobs each.
  private func joinThree(_ test: CoordinationOnRedis, _ lane: JobLane, _ count: Int = 2) async throws {
    for publisher in (1...3).map({ PublisherId($0) }) {
      for number in 1...count {
        try await join(test, job(Int(publisher.number) * 10 + number, publisher: publisher, lane), mayCall: false)
      }
    }
    try await widen(test)
  }

  @Test func `the turns of publishers that a worker has no place for go to others`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await joinThree(test, .usual)
      let allowances = allowances([1: 0, 3: 0])
      #expect(try await next(test, allowances) == ["usual21", "usual22"])
      try await refill(test)
      #expect(try await next(test, allowances).isEmpty)
      #expect(try await count(test, .usual) == 4)
      // Another worker has places for them.
      #expect(try await Set(next(test)) == ["usual11", "usual12", "usual31", "usual32"])
    }
  }

  @Test(arguments: JobLane.allCases)
  func `a look takes no more of a publisher than the worker has places for`(_ lane: JobLane) async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await joinThree(test, lane, 4)
      let found = try await next(test, allowances([1: 1, 2: 2], others: 3))
      #expect(Set(found) == Set(["11", "21", "22", "31", "32", "33"].map { "\(lane)\($0)" }))
      #expect(found.count == 6)
    }
  }

  @Test func `a publisher's places for bulk are a part of its places, but for one`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      for number in 1...2 { try await join(test, job(number, .usual), mayCall: false) }
      for number in 3...6 { try await join(test, job(number), mayCall: false) }
      try await widen(test)
      let left = LineAllowances.Left(all: 4, bulk: 3)
      #expect(
        try await next(test, LineAllowances(all: 50, bulk: 50, others: left))
          == ["usual1", "usual2", "bulk3", "bulk4", "bulk5"])
    }
  }

  @Test func `a transaction that another run holds keeps no other customer waiting`() async throws {
    func job(_ id: SynchronizationId, _ customer: CustomerId, _ transaction: TransactionId) -> Job {
      CoordinationOnRedis.job(id, customer: customer, transaction: transaction)
    }
    try await CoordinationOnRedis.with { test async throws in
      try await join(test, job("busy", "7", "100"), mayCall: false)
      for number in 1...3 {
        try await join(test, job("free\(number)", "8", TransactionId("20\(number)")), mayCall: false)
      }
      try await widen(test)
      // The lease of another synchronization.
      _ = try await test.lease(job("other", "7", "100"))
      #expect(try await next(test) == ["free1", "free2", "free3"])
      #expect(try await count(test, .usual) == 1)
    }
  }
}
