import Coordination
import Domain
import EventLoop
import Fleets
import Redis
import ServerSupport
import TestSupport
import Testing

/// The scripts that decide a 409, and the sweep, each against a real Redis.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct ClaimTests {
  private let hour = CoordinationOnRedis.hour

  private func job(
    _ id: SynchronizationId = "s", customer: CustomerId = "7", transaction: TransactionId = "100",
    publisher: PublisherId = 1,
    lane: JobLane = .usual
  ) -> Job {
    CoordinationOnRedis.job(id, customer: customer, transaction: transaction, publisher: publisher, lane: lane)
  }

  @Test func `whoever waits takes a claim over from a job in bulk, which runs all the same`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let (bulk, waiting) = (job("a", lane: .bulk), job("b", customer: "8"))
      #expect(try await test.claim(bulk) == .claimed)
      #expect(try await test.claims.prolong(bulk))
      #expect(try await test.claim(job("c", lane: .bulk)) == .held(by: bulk.claim))
      #expect(try await test.claim(waiting) == .claimed)
      #expect(try await test.claims.prolong(waiting))
      // From now on it is as if there were no bulk.
      #expect(try await test.claim(job("d")) == .held(by: waiting.claim))
      #expect(try await test.claim(job("d", lane: .bulk)) == .held(by: waiting.claim))
      // The import has its answer also if it comes late, and its repetition is no new one.
      #expect(try await test.claims.prolong(bulk))
      #expect(try await test.claim(bulk) == .held(by: bulk.claim))
      try await test.finish(waiting)
      try await test.finish(bulk)
      #expect(try await test.openCount() == 0)
      #expect(try await test.claim(job("d")) == .claimed)
    }
  }

  @Test func `a registration that takes a claim over and fails leaves the job in bulk`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let (bulk, waiting) = (job("a", lane: .bulk), job("b"))
      #expect(try await test.claim(bulk) == .claimed)
      #expect(try await test.claim(waiting) == .claimed)
      #expect(try await test.claims.undo(waiting))
      #expect(try await test.open.synchronization(1, "a")?.status == .processing)
      try await test.finish(bulk)
      #expect(try await test.openCount() == 0)
    }
  }

  @Test func `each lane has its own open synchronizations`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      for number in 1...3 {
        let bulk = job(SynchronizationId("b\(number)"), transaction: TransactionId("10\(number)"), lane: .bulk)
        #expect(try await test.claim(bulk, sweepAfter: .zero) == .claimed)
      }
      #expect(try await test.claim(job(), sweepAfter: .zero) == .claimed)
      func due(_ lane: JobLane) async throws -> [String] {
        try await test.open.dueJobs(lane, limit: 10, lookAgainAfter: hour, doors: DoorCatalog()).jobs
          .map(\.job.synchronizationId.text)
      }
      #expect(try await due(.usual) == ["s"])
      #expect(try await due(.bulk) == ["b1", "b2", "b3"])
      var listed: [String] = []
      try await test.open.forEachPage(doors: DoorCatalog()) { listed += $0.map(\.job.synchronizationId.text) }
      #expect(listed.sorted() == ["b1", "b2", "b3", "s"])
    }
  }

  @Test func `a claim is held against everybody of the same publisher until it is finalized`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      #expect(try await test.claim(job("a")) == .claimed)
      let held = ClaimAnswer.held(by: Claim(synchronizationId: "a", customerId: "7"))
      #expect(try await test.claim(job("b", customer: "8")) == held)
      #expect(try await test.claim(job("a")) == held)
      #expect(try await test.claim(job("b", publisher: 2)) == .claimed)
      #expect(try await test.claim(job("c", transaction: "101")) == .claimed)

      // An unconfirmed claim expires by itself; a prolonged one stays.
      let key = test.prefix + "claim:1:100"
      #expect(try await test.redis.send(["PTTL", key]).integer ?? 0 > 0)
      #expect(try await test.claims.prolong(job("a")))
      #expect(try await test.redis.send(["PTTL", key]).integer == -1)
      #expect(try await test.open.synchronization(1, "a")?.status == .processing)
      #expect(try await test.openCount() == 3)

      try await test.finish(job("a"))
      #expect(try await test.redis.send(["EXISTS", key]).integer == 0)
      #expect(try await test.openCount() == 2)
      #expect(try await test.claim(job("b", customer: "8")) == .claimed)
      #expect(try await test.claim(job("a")) == .replayed)
      #expect(try await test.claim(job("a", customer: "8")) == .idInUse)
      #expect(try await test.claim(job("a", transaction: "102")) == .idInUse)
    }
  }

  @Test func `an id that only the ledger may know is refused while nobody can ask the ledger`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      #expect(try await test.claim(job("a"), mustBeKnown: true) == .unknownId)
      #expect(try await test.lastingKeys().isEmpty)
      // Redis knows these.
      #expect(try await test.claim(job("a")) == .claimed)
      #expect(
        try await test.claim(job("a"), mustBeKnown: true)
          == .held(by: Claim(synchronizationId: "a", customerId: "7")))
      #expect(try await test.claim(job("a", customer: "8"), mustBeKnown: true) == .idInUse)
      try await test.finish(job("a"))
      #expect(try await test.claim(job("a"), mustBeKnown: true) == .replayed)
    }
  }

  @Test func `a claim is ended only for the synchronization that has it`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      #expect(try await test.claim(job("a")) == .claimed)
      for other in [job("b"), job("a", customer: "8")] {
        try await test.claims.end(other.claim, 1, transaction: "100")
        try await test.claims.end(job("a").claim, 1, transaction: "101")
        try await test.claims.end(job("a").claim, 2, transaction: "100")
      }
      let held = ClaimAnswer.held(by: Claim(synchronizationId: "a", customerId: "7"))
      #expect(try await test.claim(job("b")) == held)
      try await test.claims.end(job("a").claim, 1, transaction: "100")
      #expect(try await test.claim(job("b")) == .claimed)
    }
  }

  @Test func `a claim and a status tell what the synchronization does`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      for kind in Job.Kind.allCases {
        let job = CoordinationOnRedis.job("\(kind)", transaction: kind == .transfer ? "1" : "2", kind: kind)
        #expect(try await test.claim(job) == .claimed)
        #expect(try await test.claim(job) == .held(by: job.claim))
        // The same id cannot name something else that was asked for.
        for other in Job.Kind.allCases where other != kind {
          let transaction = job.transactionId
          #expect(
            try await test.claim(CoordinationOnRedis.job("\(kind)", transaction: transaction, kind: other)) == .idInUse)
        }
        #expect(job.claim.kind == kind)
        #expect(try await test.open.synchronization(1, "\(kind)")?.kind == kind)
        // A run restores it as it was.
        try await test.wipe()
        _ = try await test.lease(job)
        #expect(try await test.open.synchronization(1, "\(kind)")?.kind == kind)
      }
    }
  }

  /// A text may have the marks of Countersign's own records in Redis.
  @Test(arguments: ["a|b", "v2", "v2|x", "1|2|3", "é"]) func `a customer's id is any text`(id: CustomerId) async throws
  {
    try await CoordinationOnRedis.with { test async throws in
      let mine = job("a", customer: id)
      #expect(try await test.claim(mine) == .claimed)
      #expect(
        try await test.claim(job("b", customer: "8")) == .held(by: Claim(synchronizationId: "a", customerId: id)))
      #expect(try await test.open.synchronization(1, "a")?.customerId == id)
      try await test.finish(mine)
      #expect(try await test.claim(job("b", customer: "8")) == .claimed)
      #expect(try await test.claim(mine) == .replayed)
    }
  }

  @Test func `a customer must be known when that is asked for`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      func ask() async throws -> ClaimAnswer {
        try await test.claims.take(job(), checksCustomer: true, sweepAfter: hour)
      }
      #expect(try await ask() == .unknownCustomer)
      #expect(try await test.lastingKeys().isEmpty)
      try await test.copies.noteRegistered(2, "7")
      #expect(try await ask() == .unknownCustomer)
      // A gateway that read the customer before the erasure notes nothing behind it.
      try await test.copies.noteErased(1, "7")
      try await test.copies.noteStillRegistered(1, "7")
      #expect(try await ask() == .unknownCustomer)
      try await test.copies.noteRegistered(1, "7")
      let left = try #require(try await test.redis.send(["PTTL", test.prefix + "customer:1:7"]).integer)
      #expect((1...3_600_000).contains(left))
      #expect(try await ask() == .claimed)
      // The name of this key has the customer's id.
      let open = Keys(prefix: test.prefix).open(1, "7")
      #expect(try await test.keys().contains(open))
      try await test.copies.noteErased(1, "7")
      #expect(try await !test.keys().contains(open))
    }
  }

  @Test func `what the ledger says of a customer is copied`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await test.copies.noteStillRegistered(1, "7")
      #expect(try await test.claims.take(job(), checksCustomer: true, sweepAfter: hour) == .claimed)
    }
  }

  @Test func `an undone claim leaves nothing behind, but a worker's work is not undone`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      #expect(try await test.claim(job()) == .claimed)
      #expect(try await test.claims.undo(job()))
      #expect(try await test.lastingKeys().isEmpty)

      #expect(try await test.claim(job()) == .claimed)
      let taken = try await test.lease(job())
      #expect(try await !test.claims.undo(job()))
      #expect(try await test.open.synchronization(1, "s")?.status == .processing)
      try await test.leases.finalize(FinalizedJob(job: job(), fence: taken.fence))
      #expect(try await !test.claims.undo(job()))
      #expect(try await test.open.synchronization(1, "s")?.status == .finalized)
    }
  }

  @Test func `a registration whose repetition was told that it runs is not undone`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      #expect(try await test.claim(job("a")) == .claimed)
      // Other registrations of the transaction may come again; they were promised nothing.
      #expect(
        try await test.claim(job("b", customer: "8")) == .held(by: Claim(synchronizationId: "a", customerId: "7")))
      #expect(try await test.claims.undo(job("a")))

      #expect(try await test.claim(job("a"), sweepAfter: .zero) == .claimed)
      #expect(try await test.claim(job("a")) == .held(by: Claim(synchronizationId: "a", customerId: "7")))
      #expect(try await !test.claims.undo(job("a")))
      #expect(try await test.open.synchronization(1, "a")?.status == .processing)
      #expect(
        try await test.open.dueJobs(limit: 10, lookAgainAfter: hour, doors: DoorCatalog()).jobs.map(
          \.job.synchronizationId) == ["a"])
    }
  }

  @Test func `a registration that a fast worker has finalized before it was confirmed holds`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      #expect(try await test.claim(job()) == .claimed)
      try await test.finish(job())
      #expect(try await test.claims.prolong(job()))
      #expect(try await test.claims.prolong(job("never")) == false)
    }
  }

  @Test func `a registration holds whose claim went to the next one before it was confirmed`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let (first, next) = (job("a"), job("b"))
      #expect(try await test.claim(first) == .claimed)
      // Its worker has committed to the ledger, and not yet come here. The next registration has asked the ledger.
      try await test.claims.end(first.claim, 1, transaction: "100")
      #expect(try await test.claim(next) == .claimed)
      #expect(try await test.claims.prolong(first))
      // The next one's claim is as before.
      #expect(try await test.redis.send(["PTTL", test.prefix + "claim:1:100"]).integer ?? 0 > 0)
      #expect(try await test.claim(job("c")) == .held(by: next.claim))
    }
  }

  @Test func `the sweep leaves alone what is running`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      guard case .taken(let lease) = try await test.leases.take(job(), for: hour, sweepAfter: .zero) else {
        throw NeverHappened(description: "the lease was taken")
      }
      #expect(try await test.renew(job(), lease, for: hour, sweepAfter: hour))
      #expect(try await test.open.dueJobs(limit: 10, lookAgainAfter: .zero, doors: DoorCatalog()).jobs.isEmpty)
      // A run that has lost its lease cannot postpone the sweep.
      #expect(try await test.renew(job(), Lease(fence: 1, route: nil), for: hour, sweepAfter: .zero) == false)
      #expect(try await test.open.dueJobs(limit: 10, lookAgainAfter: .zero, doors: DoorCatalog()).jobs.isEmpty)
      #expect(try await test.renew(job(), lease, for: hour, sweepAfter: .zero))
      #expect(
        try await test.open.dueJobs(limit: 10, lookAgainAfter: hour, doors: DoorCatalog()).jobs.map(\.job) == [job()])
    }
  }

  @Test func `the sweep returns what is due, once`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      #expect(try await test.claim(job("due"), sweepAfter: .zero) == .claimed)
      #expect(
        try await test.claims.take(job("later", transaction: "101"), checksCustomer: false, sweepAfter: hour)
          == .claimed)
      #expect(
        try await test.open.dueJobs(limit: 10, lookAgainAfter: hour, doors: DoorCatalog()).jobs.map(\.job) == [
          job("due")
        ])
      #expect(try await test.open.dueJobs(limit: 10, lookAgainAfter: hour, doors: DoorCatalog()).jobs.isEmpty)
    }
  }
}
