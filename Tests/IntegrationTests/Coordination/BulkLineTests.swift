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

  private func job(_ number: Int, publisher: Int64 = 1, _ lane: JobLane = .bulk) -> Job {
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
    for (set, line) in [("lines", place.name), ("lines:bulk", "\(place.name)||bulk")] {
      _ = try await test.redis.send(["ZADD", test.prefix + set, "XX", "0", line])
    }
  }

  private func next(
    _ test: CoordinationOnRedis, skipping publishers: [Int64] = [], takesBulk: Bool = true
  ) async throws -> [String] {
    try await CallLine(test.redis, prefix: test.prefix)
      .next(50, skipping: publishers, takesBulk: takesBulk, for: hour, doors: DoorCatalog()).jobs
      .map(\.job.synchronizationId.text)
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
      #expect(try await next(test, takesBulk: false).isEmpty)
      #expect(try await next(test) == ["bulk1"])
      #expect(try await test.keys().filter { $0.hasPrefix(test.prefix + "line") }.isEmpty)
    }
  }

  @Test func `bulk takes calls at once only while nobody is in the line`() async throws {
    let wide = CallPlace(
      bundleId: "app", environment: "Production", budgets: [CallBudget(endpoint: "info", perSecond: 1000)])
    func taken(_ test: CoordinationOnRedis, _ job: Job) async throws -> Bool {
      let answer = try await test.leases.take(job, for: hour, sweepAfter: hour, places: [wide])
      if case .taken(let lease) = answer { return lease.call != nil }
      return false
    }
    try await CoordinationOnRedis.with { test async throws in
      #expect(try await taken(test, job(1)))
      try await join(test, job(2, .usual), mayCall: false)
      // The first one is of bulk's own part.
      var count = 0
      for number in 3...10 where try await taken(test, job(number)) { count += 1 }
      #expect(count < 8)
      #expect(try await self.count(test, .bulk) == 8 - count)
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

  @Test func `the turns of publishers that a worker has no place for go to others`() async throws {
    let wide = CallPlace(
      bundleId: "app", environment: "Production", budgets: [CallBudget(endpoint: "info", perSecond: 1000)])
    try await CoordinationOnRedis.with { test async throws in
      for publisher: Int64 in 1...3 {
        for number in 1...2 {
          let answer = try await test.leases.take(
            job(Int(publisher) * 10 + number, publisher: publisher, .usual), for: hour, sweepAfter: hour,
            places: [wide], mayCall: false)
          guard case .inLine = answer else { throw NeverHappened(description: "a place in the line") }
        }
      }
      try await refill(test)
      #expect(try await next(test, skipping: [1, 3]) == ["usual21", "usual22"])
      try await refill(test)
      #expect(try await next(test, skipping: [1, 3]).isEmpty)
      #expect(try await count(test, .usual) == 4)
      // Another worker has places for them.
      #expect(try await Set(next(test)) == ["usual11", "usual12", "usual31", "usual32"])
    }
  }
}
