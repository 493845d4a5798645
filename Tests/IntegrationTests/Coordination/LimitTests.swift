import Coordination
import Domain
import EventLoop
import Fleets
import Redis
import ServerSupport
import TestSupport
import Testing

/// The limits of publishers and of customers, in a real Redis. Two objects stand for two gateways.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct LimitTests {
  private let hour = CoordinationOnRedis.hour

  private func job(_ id: Int, customer: CustomerId = "7", publisher: PublisherId = 1, isByCustomer: Bool = false) -> Job
  {
    Job(
      synchronizationId: SynchronizationId("s\(id)"), publisherId: publisher, customerId: customer,
      transactionId: TransactionId("\(1000 + id)"), isByCustomer: isByCustomer, registeredAt: 1)
  }

  /// Registers at one of two gateways.
  private func take(_ test: CoordinationOnRedis, _ job: Job, _ limits: RegistrationLimits) async throws -> ClaimAnswer {
    try await TransactionClaims(test.redis, prefix: test.prefix).take(
      job, checksCustomer: false, limits: limits, sweepAfter: hour)
  }

  private func expectLimited(_ answer: ClaimAnswer, _ limit: Limit) {
    guard case .limited(limit, let wait) = answer else {
      Issue.record("\(answer), expected the limit \(limit)")
      return
    }
    #expect(wait > .zero)
  }

  @Test func `a customer has so many open synchronizations, and a further one when one has ended`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      var limits = RegistrationLimits.none
      limits.openOfCustomer = 3
      for id in 1...3 { #expect(try await take(test, job(id), limits) == .claimed) }
      expectLimited(try await take(test, job(4), limits), .customerOpen)
      // Nothing of it was kept, a repetition is none, and others go on.
      #expect(try await test.openCount() == 3)
      #expect(try await take(test, job(2), limits) == .held(by: job(2).claim))
      #expect(try await take(test, job(5, customer: "8"), limits) == .claimed)
      #expect(try await take(test, job(6, publisher: 2), limits) == .claimed)
      try await test.finish(job(1))
      #expect(try await take(test, job(4), limits) == .claimed)
      expectLimited(try await take(test, job(7), limits), .customerOpen)
      #expect(try await test.claims.undo(job(4)))
      #expect(try await take(test, job(7), limits) == .claimed)
    }
  }

  @Test func `a publisher has so many open synchronizations`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      var limits = RegistrationLimits.none
      limits.openOfPublisher = 2
      for id in 1...2 { #expect(try await take(test, job(id, customer: "\(id)"), limits) == .claimed) }
      expectLimited(try await take(test, job(3, customer: "3"), limits), .publisherOpen)
      #expect(try await take(test, job(4, publisher: 2), limits) == .claimed)
      // An end counts once, however often it is told.
      let lease = try await test.lease(job(1, customer: "1"))
      for _ in 1...2 {
        try await test.leases.finalize(FinalizedJob(job: job(1, customer: "1"), fence: lease.fence))
      }
      #expect(try await take(test, job(3, customer: "3"), limits) == .claimed)
      expectLimited(try await take(test, job(5, customer: "5"), limits), .publisherOpen)
    }
  }

  @Test func `what a process of an earlier version ended does not count for ever`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      var limits = RegistrationLimits.none
      (limits.openOfCustomer, limits.openOfPublisher) = (2, 2)
      for id in 1...2 { #expect(try await take(test, job(id), limits) == .claimed) }
      // Such a process takes the synchronization out and leaves the counts.
      for id in 1...2 {
        _ = try await test.redis.send(["DEL", test.prefix + "sync:1:s\(id)"])
        _ = try await test.redis.send(["ZREM", test.prefix + "open", "1:s\(id)"])
      }
      #expect(try await take(test, job(3), limits) == .claimed)
      #expect(try await take(test, job(4), limits) == .claimed)
      expectLimited(try await take(test, job(5), limits), .customerOpen)
    }
  }

  @Test func `after a wipe the counts come back with the jobs`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      var limits = RegistrationLimits.none
      limits.openOfCustomer = 2
      for id in 1...2 { #expect(try await take(test, job(id), limits) == .claimed) }
      try await test.wipe()
      for id in 1...2 { _ = try await test.lease(job(id)) }
      expectLimited(try await take(test, job(3), limits), .customerOpen)
    }
  }

  @Test func `a publisher's rate counts the registrations at all gateways, and those of a second may come at once`()
    async throws
  {
    try await CoordinationOnRedis.with { test async throws in
      var limits = RegistrationLimits.none
      // One in 50 seconds for so long a test: only the ones that may come at once.
      limits.perSecond = 3
      var taken = 0
      var answer = ClaimAnswer.claimed
      while answer == .claimed, taken < 1000 {
        taken += 1
        answer = try await take(test, job(taken, customer: CustomerId("\(taken)")), limits)
      }
      // However slow the machine is, it is no less than a second's.
      #expect(taken > 3)
      if taken < 1000 { expectLimited(answer, .publisherRate) }
      #expect(try await take(test, job(2000, publisher: 2), limits) == .claimed)
    }
  }

  @Test func `a customer's rate counts what comes with the customer's own token`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      var limits = RegistrationLimits.none
      limits.perSecondOfCustomer = 1
      let now = try #require(try await test.redis.send(["TIME"]).array?.first?.integer)
      // The rate is used up until a time that no test reaches.
      _ = try await test.redis.send(["SET", test.prefix + "rate:1:7", "\((now + 3600) * 1_000_000)"])
      expectLimited(try await take(test, job(1, isByCustomer: true), limits), .customerRate)
      #expect(try await take(test, job(2, isByCustomer: false), limits) == .claimed)
      #expect(try await take(test, job(3, customer: "8", isByCustomer: true), limits) == .claimed)
      // Its key does not stay: it has a time (-1 is none), or has gone already (-2) on a busy machine.
      let rest = try await test.redis.send(["PTTL", test.prefix + "rate:1:8"]).integer ?? -1
      #expect(rest != -1 && rest <= 1000)
    }
  }

  @Test func `bulk leaves half of a publisher's and of a customer's places to others`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      var limits = RegistrationLimits.none
      (limits.openOfPublisher, limits.openOfCustomer) = (8, 5)
      func bulk(_ id: Int, customer: CustomerId = "7") -> Job {
        CoordinationOnRedis.job(
          SynchronizationId("b\(id)"), customer: customer, transaction: TransactionId("8\(id)"), lane: .bulk)
      }
      for id in 1...2 { #expect(try await take(test, bulk(id), limits) == .claimed) }
      expectLimited(try await take(test, bulk(3), limits), .customerOpen)
      for id in 4...5 { #expect(try await take(test, bulk(id, customer: "8"), limits) == .claimed) }
      expectLimited(try await take(test, bulk(6, customer: "9"), limits), .publisherOpen)
      for id in 1...3 { #expect(try await take(test, job(id), limits) == .claimed) }
      expectLimited(try await take(test, job(4), limits), .customerOpen)
    }
  }

  @Test func `whoever has an app's key leaves a quarter of the publisher's places, and no customer's, to others`()
    async throws
  {
    try await CoordinationOnRedis.with { test async throws in
      func stranger(_ id: Int) -> Job {
        Job(
          synchronizationId: SynchronizationId("x\(id)"), publisherId: 1, customerId: "7",
          transactionId: TransactionId("\(900 + id)"), door: Door("d", asker: .app), registeredAt: 1)
      }
      var limits = RegistrationLimits.none
      (limits.openOfPublisher, limits.openOfCustomer) = (8, 2)
      for id in 1...6 { #expect(try await take(test, stranger(id), limits) == .claimed) }
      expectLimited(try await take(test, stranger(7), limits), .publisherOpen)
      for id in 1...2 { #expect(try await take(test, job(id), limits) == .claimed) }
      expectLimited(try await take(test, job(3), limits), .customerOpen)
    }
  }

  @Test func `a caller's reads are counted over all gateways, and each caller's apart`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let gateways = (1...2).map { _ in RequestRates(test.redis, prefix: test.prefix) }
      var (taken, wait) = (0, Duration?.none)
      while wait == nil, taken < 1000 {
        wait = try await gateways[taken % 2].take(1, "token:a", perSecond: 3)
        taken += 1
      }
      #expect(taken > 3)
      if taken < 1000 { #expect(try #require(wait) > .zero) }
      // The rate of another caller is used up until a time that no test reaches.
      let now = try #require(try await test.redis.send(["TIME"]).array?.first?.integer)
      _ = try await test.redis.send(["SET", test.prefix + "reads:1:customer:7", "\((now + 3600) * 1_000_000)"])
      #expect(try await gateways[0].take(1, "customer:7", perSecond: 3) != nil)
      #expect(try await gateways[1].take(1, "customer:7", perSecond: 3) != nil)
      #expect(try await gateways[0].take(1, "customer:8", perSecond: 3) == nil)
      #expect(try await gateways[0].take(2, "customer:7", perSecond: 3) == nil)
    }
  }
}
