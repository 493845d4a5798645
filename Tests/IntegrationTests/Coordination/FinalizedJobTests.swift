import Coordination
import Domain
import EventLoop
import Fleets
import Redis
import ServerSupport
import Testing

/// The script that takes finalized synchronizations out of Redis, against a real Redis.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct FinalizedJobTests {
  private let hour = CoordinationOnRedis.hour

  private func job(_ id: SynchronizationId = "s", transaction: TransactionId = "100", kind: Job.Kind = .registration)
    -> Job
  {
    CoordinationOnRedis.job(id, transaction: transaction, kind: kind)
  }

  private let purchase = CoveredPurchase(originalTransactionId: "99", environment: "Sandbox")
  private let place = CallPlace(
    bundleId: "app", environment: "Sandbox", budgets: [CallBudget(endpoint: "info", perSecond: 1000)])

  @Test(arguments: Job.Kind.allCases)
  func `claim, open entry and lease go together, and a copy stays for a while`(kind: Job.Kind) async throws {
    try await CoordinationOnRedis.with { test async throws in
      let job = job(kind: kind)
      #expect(try await test.claim(job) == .claimed)
      #expect(try await test.claim(job) == .held(by: job.claim))
      let taken = try await test.lease(job)
      try await test.leases.finalize(FinalizedJob(job: job, fence: taken.fence))
      #expect(try await test.redis.send(["EXISTS", test.prefix + "claim:1:100"]).integer == 0)
      #expect(try await test.openCount() == 0)
      let copy = try #require(try await test.open.synchronization(1, "s"))
      #expect(copy.status == .finalized && copy.kind == kind && copy.result == nil)
      #expect(try await test.leases.take(job, for: hour, sweepAfter: hour) == .finalized)
      // The gateway asks the ledger once the copy is gone.
      let rest = try await test.redis.send(["PTTL", test.prefix + "sync:1:s"]).integer ?? 0
      #expect(rest > 500_000 && rest <= 600_000)
      let fields = try await test.redis.send(["HKEYS", test.prefix + "sync:1:s"]).array?.compactMap(\.string) ?? []
      #expect(Set(fields).isDisjoint(with: ["job", "fence", "held", "crashes", "repeated"]))
      // The transaction's next registration does not have to wait for this one's lease.
      #expect(try await test.lease(self.job("next")).fence > taken.fence)
    }
  }

  @Test func `what a run has not finished stays, also when it is told twice`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let taken = try await test.lease(job("a"))
      for _ in 1...2 { try await test.leases.finalize(FinalizedJob(job: job("a"), fence: taken.fence)) }
      // Another registration has the transaction meanwhile, and its lease.
      #expect(try await test.claim(job("b")) == .claimed)
      let next = try await test.lease(job("b"))
      try await test.leases.finalize(FinalizedJob(job: job("a"), fence: taken.fence))
      #expect(try await test.claim(job("b")) == .held(by: job("b").claim))
      #expect(try await test.openCount() == 1)
      #expect(try await test.renew(job("b"), next, for: hour))
    }
  }

  @Test func `a run whose lease another one has ends its claim, and not the lease`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let first = try await test.lease(job())
      try await test.release(job(), first, route: "app|Sandbox")
      let second = try await test.lease(job())
      try await test.leases.finalize(FinalizedJob(job: job(), fence: first.fence, route: "late|Production"))
      #expect(try await test.claim(job("other")) == .claimed)
      #expect(try await test.renew(job(), second, for: .seconds(60)))
      try await test.release(job(), second)
      let third = try await test.lease(job("other"))
      #expect(third.route == "app|Sandbox")
    }
  }

  @Test func `what Redis has lost is not made anew`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let taken = try await test.lease(job())
      try await test.wipe()
      try await test.leases.finalize(FinalizedJob(job: job(), fence: taken.fence, route: "app|Sandbox"))
      #expect(try await test.keys().isEmpty)
    }
  }

  @Test func `an end leaves no trace of its customer, also if the record is gone`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let taken = try await test.lease(job())
      let open = Keys(prefix: test.prefix).open(1, "7")
      #expect(try await test.keys().contains(open))
      _ = try await test.redis.send(["DEL", Keys(prefix: test.prefix).synchronization(1, job().synchronizationId)])
      try await test.leases.finalize(FinalizedJob(job: job(), fence: taken.fence))
      #expect(try await !test.keys().contains(open))
    }
  }

  @Test func `the route stays for later runs, and an end without one keeps it`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      for (id, route) in [("a", "app|Sandbox|info"), ("b", nil), ("c", "app|Production")] {
        let taken = try await test.lease(job("\(id)"))
        try await test.leases.finalize(FinalizedJob(job: job("\(id)"), fence: taken.fence, route: route))
        let kept = try await test.lease(job("\(id) later"))
        #expect(kept.route == route ?? "app|Sandbox|info")
        try await test.leases.finalize(FinalizedJob(job: job("\(id) later"), fence: kept.fence))
        #expect(try await test.redis.send(["PTTL", test.prefix + "transaction:1:100"]).integer ?? 0 > 0)
      }
    }
  }

  /// Anybody can name transactions that nobody knows. Their records must not fill Redis.
  @Test func `the record of an unknown transaction goes within minutes, and that of a waiting job within a day`()
    async throws
  {
    try await CoordinationOnRedis.with { test async throws in
      func rest() async throws -> Int {
        Int(try await test.redis.send(["PTTL", test.prefix + "transaction:1:100"]).integer ?? -1)
      }
      let (minutes, day) = (600_000, 86_400_000)
      let waiting = try await test.lease(job("a"))
      try await test.release(job("a"), waiting)
      #expect((minutes + 1...day).contains(try await rest()))
      let unknown = try await test.lease(job("a"))
      try await test.leases.finalize(
        FinalizedJob(job: job("a"), fence: unknown.fence, route: "app|Sandbox", isKnown: false))
      #expect((1...minutes).contains(try await rest()))
      // Apple knows it by now.
      let known = try await test.lease(job("b"))
      try await test.leases.finalize(FinalizedJob(job: job("b"), fence: known.fence))
      #expect((29 * day...30 * day).contains(try await rest()))
    }
  }

  @Test func `a purchase of a moment ago covers later registrations, and no longer than was said`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let first = try await test.lease(job("a"), places: [place])
      #expect(first.covered == nil && first.call != nil)
      try await test.leases.finalize(
        FinalizedJob(job: job("a"), fence: first.fence, fresh: .init(purchase, for: hour)))
      // A covered run keeps what is known, and makes nothing last longer.
      for id in ["b", "c"] {
        let next = try await test.lease(job("\(id)"), places: [place])
        #expect(next.covered == purchase && next.call == nil)
        try await test.leases.finalize(FinalizedJob(job: job("\(id)"), fence: next.fence))
      }
      let last = try await test.lease(job("d"), places: [place])
      try await test.leases.finalize(
        FinalizedJob(job: job("d"), fence: last.fence, fresh: .init(purchase, for: .milliseconds(1))))
      try await test.redisTimePasses()
      let over = try await test.lease(job("e"), places: [place])
      #expect(over.covered == nil && over.call != nil)
    }
  }

  @Test func `a time of nothing, and a purchase that a record cannot hold, cover nothing`() {
    #expect(FinalizedJob.Fresh(purchase, for: .zero) == nil)
    #expect(
      FinalizedJob.Fresh(CoveredPurchase(originalTransactionId: "9\u{1F}9", environment: "Sandbox"), for: hour) == nil)
    #expect(FinalizedJob.Fresh(CoveredPurchase(originalTransactionId: "99", environment: "\u{1F}"), for: hour) == nil)
  }

  @Test func `those of one turn go together, and what is not finalized stays`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let jobs = (0..<120).map { job("\($0)", transaction: "\(1000 + $0)") }
      var finalized: [FinalizedJob] = []
      for job in jobs {
        #expect(try await test.claim(job) == .claimed)
        finalized.append(FinalizedJob(job: job, fence: try await test.lease(job).fence))
      }
      #expect(try await test.openCount() == 120)
      let all = finalized.filter { $0.job.synchronizationId != "77" }.map { one in
        Task { @LoopActor in try await test.leases.finalize(one) }
      }
      for one in all { try await one.value }
      #expect(try await test.openCount() == 1)
      #expect(try await test.open.synchronization(1, "77")?.status == .processing)
      #expect(try await test.open.synchronization(1, "76")?.status == .finalized)
    }
  }
}

extension FinalizedJobTests {
  @Test func `each publisher's open synchronizations are counted down, one that is told twice once`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      func open(_ publisher: PublisherId) async throws -> Int64? {
        try await test.redis.send(["HGET", test.prefix + "limits", "open:\(publisher)"]).string.flatMap { Int64($0) }
      }
      var finalized: [FinalizedJob] = []
      for (publisher, count) in [(PublisherId(1), 4), (2, 2)] {
        for number in 0..<count {
          let job = CoordinationOnRedis.job(
            "\(number)", customer: CustomerId("\(number)"), transaction: "\(1000 + number)", publisher: publisher)
          #expect(try await test.claim(job) == .claimed)
          finalized.append(FinalizedJob(job: job, fence: try await test.lease(job).fence))
        }
      }
      #expect(try await open(1) == 4)
      #expect(try await open(2) == 2)
      // Both of the second publisher, and two of the first, one of them twice: all in one turn.
      let ended = (finalized[..<2] + finalized[..<1] + finalized[4...]).map { one in
        Task { @LoopActor in try await test.leases.finalize(one) }
      }
      for one in ended { try await one.value }
      #expect(try await open(1) == 2)
      #expect(try await open(2) == nil)
    }
  }
}

extension CoordinationOnRedis {
  /// Waits until Redis' clock shows a later millisecond.
  fileprivate func redisTimePasses() async throws {
    func millis() async throws -> Int64 {
      let time = try await redis.send(["TIME"]).array ?? []
      return (time.first?.integer ?? 0) * 1000 + (time.last?.integer ?? 0) / 1000
    }
    let start = try await millis()
    while try await millis() <= start + 1 {}
  }
}
