import Domain
import EventLoop
import Harness
import Redis
import Store
import TestSupport
import Testing

/// The scripts that decide a 409, a lease and a result, each against a real Redis.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct PurchaseStoreTests {
  private let hour: Duration = .seconds(3600)

  private func with(_ body: @LoopActor (PurchaseStore, RedisClient, String) async throws -> Void) async throws {
    let redis = RedisClient(TestServers.current!.redis)
    redis.start()
    try await eventually("ready") { redis.isReady }
    let prefix = "test-\(UInt64.random(in: 0...UInt64.max)):"
    try await body(PurchaseStore(redis, prefix: prefix), redis, prefix)
    for key in try await redis.send(["KEYS", prefix + "*"]).array ?? [] {
      _ = try await redis.send(["DEL", key.string ?? ""])
    }
    await redis.stop()
  }

  private func job(
    _ id: String = "s", customer: Int64 = 7, transaction: String = "100", publisher: Int64 = 1
  ) -> Job {
    Job(
      synchronizationId: id, publisherId: publisher, customerId: customer, transactionId: transaction, registeredAt: 1,
      traceparent: "t")
  }

  /// The number of synchronizations that are not finalized, or whose event is not published.
  private func openCount(_ redis: RedisClient, _ prefix: String) async throws -> Int64? {
    try await redis.send(["ZCARD", prefix + "open"]).integer
  }

  private func claim(_ store: PurchaseStore, _ job: Job) async throws -> ClaimAnswer {
    try await store.claim(job, checksCustomer: false, sweepAfter: hour)
  }

  private func lease(_ store: PurchaseStore, _ job: Job) async throws -> Lease {
    guard case .taken(let lease) = try await store.takeLease(job, for: .seconds(60), sweepAfter: hour) else {
      throw NeverHappened(description: "the lease was not taken")
    }
    return lease
  }

  private let granted = Outcome(
    .purchaseSynchronized, accessGranted: true, offerId: "S1", originalTransactionId: "99", environment: "Production")

  @Test func `a claim is held against everybody of the same publisher until it is finalized`() async throws {
    try await with { (store, redis, prefix) async throws in
      #expect(try await claim(store, job("a")) == .claimed)
      #expect(try await claim(store, job("b", customer: 8)) == .held(by: Claim(synchronizationId: "a", customerId: 7)))
      #expect(try await claim(store, job("a")) == .held(by: Claim(synchronizationId: "a", customerId: 7)))
      #expect(try await claim(store, job("b", publisher: 2)) == .claimed)
      #expect(try await claim(store, job("c", transaction: "101")) == .claimed)

      // An unconfirmed claim expires by itself; a prolonged one stays.
      let key = prefix + "claim:1:100"
      #expect(try await redis.send(["PTTL", key]).integer ?? 0 > 0)
      #expect(try await store.prolongClaim(job("a")))
      #expect(try await redis.send(["PTTL", key]).integer == -1)
      #expect(try await store.synchronization(1, "a")?.status == .processing)
      #expect(try await openCount(redis, prefix) == 3)

      let taken = try await lease(store, job("a"))
      _ = try await store.finalize(job("a"), taken, granted, retention: hour, sweepAfter: hour, route: nil)
      #expect(try await redis.send(["EXISTS", key]).integer == 0)
      #expect(try await claim(store, job("b", customer: 8)) == .claimed)
      #expect(try await claim(store, job("a")) == .replayed)
      #expect(try await claim(store, job("a", customer: 8)) == .idInUse)
      #expect(try await claim(store, job("a", transaction: "102")) == .idInUse)
      try await store.told(job("a"))
      #expect(try await openCount(redis, prefix) == 3)
    }
  }

  @Test func `a customer must be known when that is asked for`() async throws {
    try await with { (store, redis, prefix) async throws in
      func ask() async throws -> ClaimAnswer { try await store.claim(job(), checksCustomer: true, sweepAfter: hour) }
      #expect(try await ask() == .unknownCustomer)
      #expect(try await redis.send(["KEYS", prefix + "*"]).array?.isEmpty == true)
      #expect(try await store.putCustomer(1, Customer(id: 7, email: "a@b")))
      #expect(try await store.customer(1, 7) == Customer(id: 7, email: "a@b"))
      #expect(try await store.putCustomer(1, Customer(id: 7)) == false)
      #expect(try await store.customer(1, 7) == Customer(id: 7))
      #expect(try await store.customer(2, 7) == nil)
      #expect(try await ask() == .claimed)
      #expect(try await store.deleteCustomer(1, 7))
      #expect(try await store.deleteCustomer(1, 7) == false)
    }
  }

  @Test func `an undone claim leaves nothing behind, but a worker's work is not undone`() async throws {
    try await with { (store, redis, prefix) async throws in
      #expect(try await claim(store, job()) == .claimed)
      #expect(try await store.undoClaim(job()))
      #expect(try await redis.send(["KEYS", prefix + "*"]).array?.isEmpty == true)

      #expect(try await claim(store, job()) == .claimed)
      let taken = try await lease(store, job())
      #expect(try await !store.undoClaim(job()))
      #expect(try await store.synchronization(1, "s")?.status == .processing)
      guard
        case .finalized = try await store.finalize(job(), taken, granted, retention: hour, sweepAfter: hour, route: nil)
      else {
        throw NeverHappened(description: "finalized")
      }
      #expect(try await !store.undoClaim(job()))
      #expect(try await store.synchronization(1, "s")?.status == .finalized)
    }
  }

  @Test func `a registration whose repetition was told that it runs is not undone`() async throws {
    try await with { (store, redis, prefix) async throws in
      #expect(try await claim(store, job("a")) == .claimed)
      // Other registrations of the transaction may come again; they were promised nothing.
      #expect(try await claim(store, job("b", customer: 8)) == .held(by: Claim(synchronizationId: "a", customerId: 7)))
      #expect(try await store.undoClaim(job("a")))

      #expect(try await store.claim(job("a"), checksCustomer: false, sweepAfter: .zero) == .claimed)
      #expect(try await claim(store, job("a")) == .held(by: Claim(synchronizationId: "a", customerId: 7)))
      #expect(try await !store.undoClaim(job("a")))
      #expect(try await store.synchronization(1, "a")?.status == .processing)
      #expect(try await store.dueJobs(limit: 10, lookAgainAfter: hour).jobs.map(\.synchronizationId) == ["a"])
    }
  }

  @Test func `one lease at a time, with a number that only grows, also after Redis has lost everything`() async throws {
    try await with { (store, redis, prefix) async throws in
      let first = try await lease(store, job())
      guard case .busy(let rest) = try await store.takeLease(job(), for: hour, sweepAfter: hour) else {
        throw NeverHappened(description: "busy")
      }
      #expect(rest > .zero && rest <= .seconds(60))
      #expect(try await store.renewLease(job(), first, for: .seconds(60), sweepAfter: .seconds(60)))
      try await store.release(job(), first, isRetrying: true, sweepAfter: hour, route: "app|Sandbox")
      #expect(try await store.synchronization(1, "s")?.status == .retrying)

      let second = try await lease(store, job())
      #expect(second.fence > first.fence)
      #expect(second.route == "app|Sandbox")
      #expect(try await store.renewLease(job(), first, for: .seconds(60), sweepAfter: .seconds(60)) == false)
      // The first run's result comes too late.
      #expect(try await store.finalize(job(), first, granted, retention: hour, sweepAfter: hour, route: nil) == .stale)

      for key in try await redis.send(["KEYS", prefix + "*"]).array ?? [] {
        _ = try await redis.send(["DEL", key.string ?? ""])
      }
      let third = try await lease(store, job())
      #expect(third.fence > second.fence)
      // The job has restored the status and the claim that Redis had lost.
      #expect(try await store.synchronization(1, "s")?.customerId == 7)
      #expect(try await claim(store, job("other")) == .held(by: Claim(synchronizationId: "s", customerId: 7)))
    }
  }

  @Test func `a finalized synchronization stays as it is and gives no lease`() async throws {
    try await with { (store, redis, prefix) async throws in
      let taken = try await lease(store, job())
      guard
        case .finalized(let done) = try await store.finalize(
          job(), taken, granted, retention: hour, sweepAfter: hour, route: nil)
      else {
        throw NeverHappened(description: "finalized")
      }
      #expect(done.conclusion?.outcome == granted)
      #expect(done.conclusion?.version == taken.fence)
      #expect(done.conclusion?.traceparent == "t")
      #expect(try await store.takeLease(job(), for: hour, sweepAfter: hour) == .finalized(done))
      let again = try await store.finalize(
        job(), taken, Outcome(.internalError), retention: hour, sweepAfter: hour, route: nil)
      #expect(again == .finalized(done))
      // The synchronization stays open until its event is published.
      #expect(try await openCount(redis, prefix) == 1)
      try await store.told(job())
      #expect(try await openCount(redis, prefix) == 0)
      #expect(try await redis.send(["PTTL", prefix + "sync:1:s"]).integer ?? 0 > 0)
      // The status does not keep the fields that only a run needs.
      let fields = try await redis.send(["HKEYS", prefix + "sync:1:s"]).array?.compactMap(\.string) ?? []
      #expect(Set(fields).isDisjoint(with: ["job", "fence", "held", "crashes"]))
      #expect(try await redis.send(["PTTL", prefix + "transaction:1:100"]).integer ?? 0 > 0)
      // The transaction's next registration does not have to wait for this one's lease.
      #expect(try await lease(store, job("next")).fence > taken.fence)
    }
  }

  @Test func `a fencing number grows though the clock was set back`() async throws {
    try await with { (store, redis, prefix) async throws in
      let future = ["5000000000000000", "0", "0", "", "", "", "app|Sandbox"].joined(separator: "\u{1F}")
      _ = try await redis.send(["SET", prefix + "transaction:1:100", future])
      let taken = try await lease(store, job())
      #expect(taken.fence == 5_000_000_000_000_001)
      #expect(taken.route == "app|Sandbox")
    }
  }

  @Test func `a renewed lease ends when it says, and one that has ended is not renewed`() async throws {
    try await with { (store, _, _) async throws in
      let route = "app|Sandbox||answers|of \u{1F} any kind\n"
      let first = try await lease(store, job())
      try await store.release(job(), first, isRetrying: false, sweepAfter: hour, route: route)
      #expect(try await store.renewLease(job(), first, for: hour, sweepAfter: hour) == false)
      let second = try await lease(store, job())
      #expect(second.route == route)
      #expect(try await store.renewLease(job(), second, for: hour, sweepAfter: hour))
      guard case .busy(let rest) = try await store.takeLease(job(), for: hour, sweepAfter: hour) else {
        throw NeverHappened(description: "busy")
      }
      #expect(rest > .seconds(3500) && rest <= .seconds(3600))
      try await store.release(job(), second, isRetrying: false, sweepAfter: hour, route: nil)
      #expect(try await lease(store, job()).route == route)
    }
  }

  @Test func `a purchase is owned by its first customer, in each environment and for each publisher`() async throws {
    try await with { (store, _, _) async throws in
      func finalize(_ job: Job, _ outcome: Outcome) async throws -> Outcome? {
        let taken = try await lease(store, job)
        guard
          case .finalized(let done) = try await store.finalize(
            job, taken, outcome, retention: hour, sweepAfter: hour, route: nil)
        else { return nil }
        return done.conclusion?.outcome
      }
      // A purchase without access gets no owner.
      let expired = Outcome(.receivedExpiredPurchase, originalTransactionId: "99", environment: "Production")
      #expect(try await finalize(job("a", customer: 5), expired) == expired)
      #expect(try await finalize(job("b", customer: 7), granted) == granted)
      let other = try await finalize(job("c", customer: 8), granted)
      #expect(other?.result == .purchaseOwnedByAnotherCustomer)
      #expect(other?.accessGranted == false)
      #expect(other?.offerId == nil)
      #expect(try await finalize(job("d", customer: 7), granted) == granted)
      var sandbox = granted
      sandbox.environment = "Sandbox"
      #expect(try await finalize(job("e", customer: 8), sandbox) == sandbox)
      #expect(try await finalize(job("f", customer: 8, publisher: 2), granted) == granted)
    }
  }

  @Test func `the sweep leaves alone what is running`() async throws {
    try await with { (store, _, _) async throws in
      guard case .taken(let lease) = try await store.takeLease(job(), for: hour, sweepAfter: .zero) else {
        throw NeverHappened(description: "the lease was taken")
      }
      #expect(try await store.renewLease(job(), lease, for: hour, sweepAfter: hour))
      #expect(try await store.dueJobs(limit: 10, lookAgainAfter: .zero).jobs.isEmpty)
      // A run that has lost its lease cannot postpone the sweep.
      #expect(try await store.renewLease(job(), Lease(fence: 1, route: nil), for: hour, sweepAfter: .zero) == false)
      #expect(try await store.dueJobs(limit: 10, lookAgainAfter: .zero).jobs.isEmpty)
      #expect(try await store.renewLease(job(), lease, for: hour, sweepAfter: .zero))
      #expect(try await store.dueJobs(limit: 10, lookAgainAfter: hour).jobs == [job()])
    }
  }

  @Test func `the sweep returns what is due, once`() async throws {
    try await with { (store, _, _) async throws in
      #expect(try await store.claim(job("due"), checksCustomer: false, sweepAfter: .zero) == .claimed)
      #expect(
        try await store.claim(job("later", transaction: "101"), checksCustomer: false, sweepAfter: hour) == .claimed)
      #expect(try await store.dueJobs(limit: 10, lookAgainAfter: hour).jobs == [job("due")])
      #expect(try await store.dueJobs(limit: 10, lookAgainAfter: hour).jobs.isEmpty)
    }
  }

  @Test func `a finalized synchronization that was not told comes back by the sweep`() async throws {
    try await with { (store, redis, prefix) async throws in
      for isLost in [false, true] {
        let job = job(isLost ? "lost" : "kept")
        guard
          case .taken(let taken) = try await store.takeLease(job, for: hour, sweepAfter: isLost ? hour : .zero)
        else { throw NeverHappened(description: "a lease") }
        if isLost { _ = try await redis.send(["DEL", prefix + "sync:1:lost", prefix + "open"]) }
        _ = try await store.finalize(
          job, taken, granted, retention: hour, sweepAfter: isLost ? .zero : hour, route: nil)
        #expect(try await store.dueJobs(limit: 10, lookAgainAfter: .zero, overdueBy: hour).jobs.isEmpty)
        #expect(try await store.dueJobs(limit: 10, lookAgainAfter: .zero).jobs == [job])
        try await store.told(job)
        #expect(try await store.dueJobs(limit: 10, lookAgainAfter: .zero).jobs.isEmpty)
      }
    }
  }

  @Test func `what is told in one turn is taken off together, and what is not finalized stays`() async throws {
    try await with { (store, redis, prefix) async throws in
      let jobs = (0..<120).map { job("\($0)", transaction: "\(1000 + $0)") }
      for job in jobs {
        #expect(try await store.claim(job, checksCustomer: false, sweepAfter: hour) == .claimed)
        let taken = try await lease(store, job)
        guard job.synchronizationId != "77" else { continue }
        _ = try await store.finalize(job, taken, granted, retention: hour, sweepAfter: .zero, route: nil)
      }
      #expect(try await openCount(redis, prefix) == 120)
      let all = jobs.map { job in Task { @LoopActor in try await store.told(job) } }
      for one in all { try await one.value }
      #expect(try await openCount(redis, prefix) == 1)
      #expect(try await store.synchronization(1, "77")?.status == .processing)
    }
  }

  @Test func `of two leases renewed together the lost one is told apart`() async throws {
    try await with { (store, _, _) async throws in
      let one = job("a", transaction: "101")
      let other = job("b", transaction: "102")
      let kept = (job: one, lease: try await lease(store, one))
      _ = try await lease(store, other)
      let lost = (job: other, lease: Lease(fence: 1, route: nil))
      #expect(try await store.renewLeases([kept, lost], for: hour, sweepAfter: hour) == [true, false])
      #expect(try await store.renewLeases([lost, kept], for: hour, sweepAfter: hour) == [false, true])
    }
  }

  @Test func `a job whose id was given to another registration touches nothing of it`() async throws {
    try await with { (store, _, _) async throws in
      // The gateway undid this claim after its publish timed out. Since then the client has used the id for another
      // registration.
      let ghost = job("x", customer: 7, transaction: "100")
      let real = job("x", customer: 8, transaction: "200")
      #expect(try await claim(store, real) == .claimed)
      #expect(try await store.takeLease(ghost, for: hour, sweepAfter: hour) == .foreign)
      let taken = try await lease(store, real)
      #expect(
        try await store.finalize(
          ghost, Lease(fence: taken.fence, route: nil), granted, retention: hour, sweepAfter: hour, route: nil)
          == .stale)
      guard
        case .finalized(let done) = try await store.finalize(
          real, taken, granted, retention: hour, sweepAfter: hour, route: nil)
      else { throw NeverHappened(description: "finalized") }
      #expect(done.customerId == 8)
      #expect(done.transactionId == "200")
    }
  }

  @Test func `a registration that a fast worker has finalized before it was confirmed holds`() async throws {
    try await with { (store, _, _) async throws in
      #expect(try await claim(store, job()) == .claimed)
      let taken = try await lease(store, job())
      _ = try await store.finalize(job(), taken, granted, retention: hour, sweepAfter: hour, route: nil)
      #expect(try await store.prolongClaim(job()))
      #expect(try await store.prolongClaim(job("never")) == false)
    }
  }

  @Test func `a budget gives one second's calls at once and then makes wait, and a pause stops all`() async throws {
    try await with { (store, _, _) async throws in
      let place = Self.place("a", ["x"], perSecond: 5)
      // All calls at once: five hundred calls one after the other would take a minute and a half.
      let tasks = (0..<500).map { _ in Task { @LoopActor in try await store.takeCall(place) } }
      var given = 0
      for task in tasks where try await task.value == Self.granted(place, "x") { given += 1 }
      #expect(given >= 5 && given < 500)
      let other = Self.place("b", ["x", "y"], perSecond: 5)
      #expect(try await store.takeCall(other) == Self.granted(other, "x"))
      try await store.pause(other, "x", for: .seconds(60))
      try await store.pause(other, "x", for: .seconds(1))
      // The other endpoint has a budget of its own.
      #expect(try await store.takeCall(other) == Self.granted(other, "y"))
      guard case .wait(let wait) = try await store.takeCall(other, only: "x") else {
        throw NeverHappened(description: "a paused endpoint makes wait")
      }
      #expect(wait > .seconds(50) && wait <= .seconds(60))
    }
  }

  @Test func `each endpoint has a budget of its own, also of less than a call a second`() async throws {
    try await with { (store, _, _) async throws in
      let budgets = [CallBudget(endpoint: "often", perSecond: 1000), CallBudget(endpoint: "seldom", perSecond: 0.01)]
      let place = CallPlace(bundleId: "a", environment: "Sandbox", budgets: budgets)
      #expect(try await store.takeCall(place, only: "seldom") == Self.granted(place, "seldom"))
      guard case .wait(let wait) = try await store.takeCall(place, only: "seldom") else {
        throw NeverHappened(description: "one call in a hundred seconds")
      }
      #expect(wait > .seconds(50) && wait <= .seconds(100))
      #expect(try await store.takeCall(place) == Self.granted(place, "often"))
      // The same budgets count for the call that comes with a lease, and for the endpoint that the route names.
      guard case .taken(let lease) = try await store.takeLease(job(), for: hour, sweepAfter: hour, places: [place])
      else { throw NeverHappened(description: "a lease") }
      #expect(lease.call == CallGrant(place: place.name, endpoint: "often"))
      try await store.release(job(), lease, isRetrying: false, sweepAfter: hour, route: "a|Sandbox|seldom")
      guard case .wait(let further) = try await store.takeLease(job(), for: hour, sweepAfter: hour, places: [place])
      else { throw NeverHappened(description: "one call in a hundred seconds") }
      #expect(further > .seconds(50) && further <= .seconds(100))
    }
  }

  private static func place(
    _ app: String, in environment: String = "Production", _ endpoints: [String], perSecond: Double = 1000
  ) -> CallPlace {
    CallPlace(
      bundleId: app, environment: environment,
      budgets: endpoints.map { CallBudget(endpoint: $0, perSecond: perSecond) })
  }

  private static func granted(_ place: CallPlace, _ endpoint: String) -> CallAnswer {
    .granted(CallGrant(place: place.name, endpoint: endpoint))
  }

  @Test func `a lease comes with its first call, where the transaction is known, or not at all`() async throws {
    try await with { (store, _, _) async throws in
      let places = ["Production", "Sandbox"].map { Self.place("app", in: $0, ["info", "statuses"]) }
      func take(_ job: Job) async throws -> LeaseAnswer {
        try await store.takeLease(job, for: hour, sweepAfter: hour, places: places)
      }
      guard case .taken(let first) = try await take(job()) else { throw NeverHappened(description: "the first lease") }
      #expect(first.call == CallGrant(place: "app|Production", endpoint: "info"))
      try await store.release(job(), first, isRetrying: false, sweepAfter: hour, route: "app|Sandbox")
      guard case .taken(let second) = try await take(job()) else { throw NeverHappened(description: "the second") }
      #expect(second.call == CallGrant(place: "app|Sandbox", endpoint: "info"))

      // Without a call there is no run, and no lease to give back. The sweep waits as well.
      try await store.release(job(), second, isRetrying: false, sweepAfter: .zero, route: "app|Sandbox|statuses")
      try await store.pause(places[1], "statuses", for: .seconds(60))
      guard case .wait(let wait) = try await take(job()) else { throw NeverHappened(description: "a wait") }
      #expect(wait > .seconds(50))
      #expect(try await store.dueJobs(limit: 10, lookAgainAfter: .zero).jobs.isEmpty)
      try await store.release(job(), second, isRetrying: false, sweepAfter: hour, route: "app|Sandbox")
      guard case .taken(let third) = try await take(job()) else { throw NeverHappened(description: "the third") }
      #expect(third.call == CallGrant(place: "app|Sandbox", endpoint: "info"))
      #expect(third.crashes == 0)
    }
  }

  @Test func `an answer of a moment ago covers the next registration, and only one that gives access`() async throws {
    try await with { (store, _, _) async throws in
      let places = [Self.place("app", ["info"])]
      func take(_ job: Job) async throws -> Lease {
        guard case .taken(let lease) = try await store.takeLease(job, for: hour, sweepAfter: hour, places: places)
        else { throw NeverHappened(description: "a lease") }
        return lease
      }
      let first = try await take(job("a"))
      _ = try await store.finalize(
        job("a"), first, Outcome(.purchaseRevoked), retention: hour, sweepAfter: hour, route: nil, reuse: hour)
      let second = try await take(job("b"))
      #expect(second.covered == nil && second.call != nil)
      _ = try await store.finalize(
        job("b"), second, granted, retention: hour, sweepAfter: hour, route: nil, reuse: hour)
      let third = try await take(job("c"))
      #expect(third.covered == granted && third.call == nil)
      // A covered result covers further registrations, but no longer than the answer said.
      _ = try await store.finalize(job("c"), third, granted, retention: hour, sweepAfter: hour, route: nil)
      #expect(try await take(job("d")).covered == granted)
    }
  }

  @Test func `an offer that a record cannot hold covers nothing`() async throws {
    try await with { (store, _, _) async throws in
      var strange = granted
      strange.offerId = "a\u{1F}b"
      let first = try await lease(store, job("a"))
      _ = try await store.finalize(
        job("a"), first, strange, retention: hour, sweepAfter: hour, route: "app|Sandbox", reuse: hour)
      let second = try await lease(store, job("b"))
      #expect(second.covered == nil)
      #expect(second.route == "app|Sandbox")
    }
  }
}

extension PurchaseStore {
  fileprivate func renewLease(
    _ job: Job, _ lease: Lease, for duration: Duration, sweepAfter: Duration
  ) async throws -> Bool {
    try await renewLeases([(job, lease)], for: duration, sweepAfter: sweepAfter)[0]
  }
}
