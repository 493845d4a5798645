import Coordination
import Domain
import EventLoop
import Fleets
import Redis
import ServerSupport
import TestSupport
import Testing

/// The scripts behind a lease and a call to Apple, each against a real Redis.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct LeaseTests {
  private let hour = CoordinationOnRedis.hour

  private func job(_ id: SynchronizationId = "s", customer: CustomerId = "7", transaction: TransactionId = "100") -> Job
  {
    CoordinationOnRedis.job(id, customer: customer, transaction: transaction)
  }

  @Test func `one lease at a time, with a number that only grows, also after Redis has lost everything`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let first = try await test.lease(job())
      guard case .busy(let rest) = try await test.leases.take(job(), for: hour, sweepAfter: hour) else {
        throw NeverHappened(description: "busy")
      }
      #expect(rest > .zero && rest <= .seconds(60))
      #expect(try await test.renew(job(), first, for: .seconds(60)))
      try await test.leases.release(job(), first, isRetrying: true, sweepAfter: hour, route: "app|Sandbox")
      #expect(try await test.open.synchronization(1, "s")?.status == .retrying)

      let second = try await test.lease(job())
      #expect(second.fence > first.fence)
      #expect(second.route == "app|Sandbox")
      #expect(try await test.renew(job(), first, for: .seconds(60)) == false)

      try await test.wipe()
      let third = try await test.lease(job())
      #expect(third.fence > second.fence)
      // The job has restored the status and the claim that Redis had lost.
      #expect(try await test.open.synchronization(1, "s")?.customerId == "7")
      #expect(try await test.claim(job("other")) == .held(by: Claim(synchronizationId: "s", customerId: "7")))
    }
  }

  @Test func `a fencing number grows though the clock was set back`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let future = ["5000000000000000", "0", "0", "", "", "app|Sandbox"].joined(separator: "\u{1F}")
      _ = try await test.redis.send(["SET", test.prefix + "transaction:1:100", future])
      let taken = try await test.lease(job())
      #expect(taken.fence == 5_000_000_000_000_001)
      #expect(taken.route == "app|Sandbox")
    }
  }

  @Test func `a renewed lease ends when it says, and one that has ended is not renewed`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let route = "app|Sandbox||answers|of \u{1F} any kind\n"
      let first = try await test.lease(job())
      try await test.leases.release(job(), first, isRetrying: false, sweepAfter: hour, route: route)
      #expect(try await test.renew(job(), first, for: hour) == false)
      let second = try await test.lease(job())
      #expect(second.route == route)
      #expect(try await test.renew(job(), second, for: hour))
      guard case .busy(let rest) = try await test.leases.take(job(), for: hour, sweepAfter: hour) else {
        throw NeverHappened(description: "busy")
      }
      #expect(rest > .seconds(3500) && rest <= .seconds(3600))
      try await test.leases.release(job(), second, isRetrying: false, sweepAfter: hour, route: nil)
      #expect(try await test.lease(job()).route == route)
    }
  }

  @Test func `of two leases renewed together the lost one is told apart`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let one = job("a", transaction: "101")
      let other = job("b", transaction: "102")
      let kept = (job: one, lease: try await test.lease(one))
      _ = try await test.lease(other)
      let lost = (job: other, lease: Lease(fence: 1, route: nil))
      #expect(try await test.leases.renew([kept, lost], for: hour, sweepAfter: hour) == [true, false])
      #expect(try await test.leases.renew([lost, kept], for: hour, sweepAfter: hour) == [false, true])
    }
  }

  @Test func `a job whose id was given to another registration touches nothing of it`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      // The gateway undid this claim after its publish timed out. Since then the client has used the id for another
      // registration.
      let ghost = job("x", customer: "7", transaction: "100")
      let real = job("x", customer: "8", transaction: "200")
      #expect(try await test.claim(real) == .claimed)
      #expect(try await test.leases.take(ghost, for: hour, sweepAfter: hour) == .foreign)
      #expect(try await test.open.synchronization(1, "x")?.customerId == "8")
      // Its own job runs.
      try await test.finish(real)
      #expect(try await test.claim(real) == .replayed)
    }
  }

  @Test func `a budget gives one second's calls at once and then makes wait, and a pause stops all`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let place = Self.place("a", ["x"], perSecond: 5)
      // All calls at once: five hundred calls one after the other would take a minute and a half.
      let tasks = (0..<500).map { _ in Task { @LoopActor in try await test.budgets.takeCall(place) } }
      var given = 0
      for task in tasks where try await task.value == Self.granted(place, "x") { given += 1 }
      #expect(given >= 5 && given < 500)
      let other = Self.place("b", ["x", "y"], perSecond: 5)
      #expect(try await test.budgets.takeCall(other) == Self.granted(other, "x"))
      try await test.budgets.pause(other, "x", for: .seconds(60))
      try await test.budgets.pause(other, "x", for: .seconds(1))
      // The other endpoint has a budget of its own.
      #expect(try await test.budgets.takeCall(other) == Self.granted(other, "y"))
      guard case .wait(let wait) = try await test.budgets.takeCall(other, only: "x") else {
        throw NeverHappened(description: "a paused endpoint makes wait")
      }
      #expect(wait > .seconds(50) && wait <= .seconds(60))
    }
  }

  @Test func `each endpoint has a budget of its own, also of less than a call a second`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let budgets = [CallBudget(endpoint: "often", perSecond: 1000), CallBudget(endpoint: "seldom", perSecond: 0.01)]
      let place = CallPlace(bundleId: "a", environment: "Sandbox", budgets: budgets)
      #expect(try await test.budgets.takeCall(place, only: "seldom") == Self.granted(place, "seldom"))
      guard case .wait(let wait) = try await test.budgets.takeCall(place, only: "seldom") else {
        throw NeverHappened(description: "one call in a hundred seconds")
      }
      #expect(wait > .seconds(50) && wait <= .seconds(100))
      #expect(try await test.budgets.takeCall(place) == Self.granted(place, "often"))
      // The same budgets count for the call that comes with a lease, and for the endpoint that the route names.
      guard case .taken(let lease) = try await test.leases.take(job(), for: hour, sweepAfter: hour, places: [place])
      else { throw NeverHappened(description: "a lease") }
      #expect(lease.call == CallPermit(place: place.name, endpoint: "often"))
      try await test.leases.release(job(), lease, isRetrying: false, sweepAfter: hour, route: "a|Sandbox|seldom")
      guard
        case .inLine(let further, _) = try await test.leases.take(job(), for: hour, sweepAfter: hour, places: [place])
      else { throw NeverHappened(description: "one call in a hundred seconds") }
      #expect(further > .seconds(50) && further <= .seconds(100))
    }
  }

  private static func place(
    _ app: BundleId, in environment: Environment = "Production", _ endpoints: [String], perSecond: Double = 1000
  ) -> CallPlace {
    CallPlace(
      bundleId: app, environment: environment,
      budgets: endpoints.map { CallBudget(endpoint: $0, perSecond: perSecond) })
  }

  private static func granted(_ place: CallPlace, _ endpoint: String) -> CallAnswer {
    .granted(CallPermit(place: place.name, endpoint: endpoint))
  }

  @Test func `a lease comes with its first call, where the transaction is known, or not at all`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let places = ["Production", "Sandbox"].map { Self.place("app", in: $0, ["info", "statuses"]) }
      func take(_ job: Job) async throws -> LeaseAnswer {
        try await test.leases.take(job, for: hour, sweepAfter: hour, places: places)
      }
      guard case .taken(let first) = try await take(job()) else { throw NeverHappened(description: "the first lease") }
      #expect(first.call == CallPermit(place: "app|Production", endpoint: "info"))
      try await test.leases.release(job(), first, isRetrying: false, sweepAfter: hour, route: "app|Sandbox")
      guard case .taken(let second) = try await take(job()) else { throw NeverHappened(description: "the second") }
      #expect(second.call == CallPermit(place: "app|Sandbox", endpoint: "info"))

      // Without a call there is no run, and no lease to give back. The sweep waits as well.
      try await test.leases.release(job(), second, isRetrying: false, sweepAfter: .zero, route: "app|Sandbox|statuses")
      try await test.budgets.pause(places[1], "statuses", for: .seconds(60))
      guard case .inLine = try await take(job()) else { throw NeverHappened(description: "a place in the line") }
      #expect(try await test.open.dueJobs(limit: 10, lookAgainAfter: .zero, doors: DoorCatalog()).jobs.isEmpty)
      // Nobody waits for the other endpoint.
      guard case .taken(let other) = try await take(job("other", transaction: "101")) else {
        throw NeverHappened(description: "the lease of another job")
      }
      #expect(other.call == CallPermit(place: "app|Production", endpoint: "info"))
      #expect(other.crashes == 0)
    }
  }
}
