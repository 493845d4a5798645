import Coordination
import Domain
import EventLoop
import Fleets
import Redis
import ServerSupport
import TestSupport
import Testing

/// The line of jobs that wait for a call to Apple, in a real Redis.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct CallLineTests {
  private let hour = CoordinationOnRedis.hour
  private let place = CallPlace(
    bundleId: "app", environment: "Production",
    budgets: [CallBudget(endpoint: "info", perSecond: 1000), CallBudget(endpoint: "statuses", perSecond: 1000)])

  private func job(_ id: String, _ customer: String, publisher: PublisherId = 1) -> Job {
    CoordinationOnRedis.job(
      SynchronizationId(id), customer: CustomerId(customer), transaction: transaction(id), publisher: publisher)
  }

  /// A transaction of its own for each id.
  private func transaction(_ id: String) -> TransactionId {
    TransactionId("\(id.utf8.reduce(1) { $0 &* 131 &+ UInt64($1) })")
  }

  /// Puts a job into the line, and returns the name of its copy.
  @discardableResult
  private func join(_ test: CoordinationOnRedis, _ job: Job, attempt: Int = 1) async throws -> String {
    let answer = try await test.leases.take(
      job, attempt: attempt, for: hour, sweepAfter: hour, places: [place])
    guard case .inLine(_, let copy) = answer else { throw NeverHappened(description: "a place in the line") }
    return copy
  }

  /// Forbids all calls for an hour.
  private func shut(_ test: CoordinationOnRedis) async throws {
    for budget in place.budgets { try await test.budgets.pause(place, budget.endpoint, for: hour) }
  }

  /// Allows calls again, and lets the next look find the line.
  private func open(_ test: CoordinationOnRedis) async throws {
    for budget in place.budgets {
      _ = try await test.redis.send(["HDEL", test.prefix + "budgets", "pause:\(place.name)|\(budget.endpoint)"])
    }
    for line in [place.name.text] + place.budgets.map({ "\(place.name)|\($0.endpoint)" }) {
      _ = try await test.redis.send(["ZADD", test.prefix + "lines", "XX", "0", line])
    }
  }

  private func next(_ test: CoordinationOnRedis, _ most: Int = 50) async throws -> AwaitedJobs {
    try await CallLine(test.redis, prefix: test.prefix).next(LineAllowances(all: most), for: hour, doors: DoorCatalog())
  }

  private func ids(_ test: CoordinationOnRedis, _ most: Int = 50) async throws -> [String] {
    try await next(test, most).jobs.map(\.job.synchronizationId.text)
  }

  private func lineKeys(_ test: CoordinationOnRedis) async throws -> [String] {
    try await test.keys().filter { $0.hasPrefix(test.prefix + "line") }
  }

  // MARK: Whose turn it is

  @Test func `a customer with many jobs delays another customer's next one by one of its own`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await shut(test)
      for number in 1...9 { try await join(test, job("a\(number)", "A")) }
      try await join(test, job("b1", "B"))
      try await join(test, job("b2", "B"))
      try await open(test)
      #expect(try await ids(test, 3) == ["a1", "b1", "a2"])
      // Somebody else comes now: behind one job of each of the others.
      try await join(test, job("c1", "C"))
      #expect(Set(try await ids(test, 3)) == ["a3", "b2", "c1"])
      #expect(try await ids(test) == ["a4", "a5", "a6", "a7", "a8", "a9"])
      #expect(try await lineKeys(test).isEmpty)
    }
  }

  @Test func `publishers that share an app take turns before their customers do`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await shut(test)
      for number in 1...6 { try await join(test, job("p\(number)", "customer \(number)", publisher: 1)) }
      try await join(test, job("q1", "other", publisher: 2))
      try await join(test, job("q2", "other", publisher: 2))
      try await open(test)
      #expect(try await ids(test, 4) == ["p1", "q1", "p2", "q2"])
      #expect(try await ids(test) == ["p3", "p4", "p5", "p6"])
    }
  }

  @Test func `newcomers without end keep nobody from a turn of each round`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await shut(test)
      for number in 1...5 { try await join(test, job("z\(number)", "Z")) }
      try await open(test)
      var given: [String] = []
      for round in 1...10 {
        for newcomer in 1...2 { try await join(test, job("n\(round)-\(newcomer)", "N\(round)-\(newcomer)")) }
        given += try await ids(test, 2)
      }
      // Twenty calls for twenty newcomers and Z: of each round, which grows longer, Z has one.
      #expect(given.filter { $0.hasPrefix("z") }.count >= 2)
      #expect(given.filter { $0.hasPrefix("n") }.count >= 10)
    }
  }

  @Test func `within a customer the oldest registration comes first`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await shut(test)
      for (id, age) in [("young", 30), ("old", 10), ("middle", 20)] {
        try await join(
          test,
          Job(
            synchronizationId: SynchronizationId(id), publisherId: 1, customerId: "7",
            transactionId: transaction(id), registeredAt: Int64(age)))
      }
      try await open(test)
      #expect(try await ids(test) == ["old", "middle", "young"])
    }
  }

  // MARK: What the line gives

  @Test func `a job comes with its lease, its call, its attempt and the name of its copy`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await shut(test)
      let copy = try await join(test, job("a", "A"), attempt: 3)
      try await open(test)
      let found = try #require(try await next(test).jobs.first)
      #expect(found.attempt == 3 && found.copy == copy && found.lease.crashes == 0 && found.lease.deliveries == 1)
      #expect(found.lease.call == CallPermit(place: place.name, endpoint: "info"))
      // It is a lease like any other.
      #expect(try await test.renew(found.job, found.lease, for: hour))
      guard case .busy = try await test.leases.take(found.job, for: hour, sweepAfter: hour, places: [place]) else {
        throw NeverHappened(description: "the lease holds")
      }
      try await test.leases.finalize(FinalizedJob(job: found.job, fence: found.lease.fence))
      #expect(try await test.leases.take(found.job, for: hour, sweepAfter: hour) == .finalized)
    }
  }

  @Test func `the sweep tells which job a worker had from the line and did not end`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await shut(test)
      try await join(test, job("a", "A"))
      try await open(test)
      let found = try #require(try await next(test).jobs.first)
      _ = try await test.lease(job("b", "B"))
      func due() async throws -> [DueJob] {
        for id in ["a", "b"] { _ = try await test.redis.send(["ZADD", test.prefix + "open", "XX", "1e12", "1:\(id)"]) }
        return try await test.open.dueJobs(limit: 10, lookAgainAfter: hour, doors: DoorCatalog()).jobs
          .sorted { $0.job.synchronizationId.text < $1.job.synchronizationId.text }
      }
      #expect(try await due() == [DueJob(job("a", "A"), run: 1, isOutOfLine: true), DueJob(job("b", "B"), run: 1)])
      // A worker that gives the job back has ended it.
      try await test.release(found.job, found.lease)
      #expect(try await due() == [DueJob(job("a", "A"), run: 2), DueJob(job("b", "B"), run: 2)])
    }
  }

  @Test func `a line without calls gives nothing, and says when to look again`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      #expect(try await next(test).wait == nil)
      try await shut(test)
      try await join(test, job("a", "A"))
      let found = try await next(test)
      let wait = try #require(found.wait)
      #expect(found.jobs.isEmpty && wait > .seconds(3000) && wait <= hour)
      #expect(try await CallLine(test.redis, prefix: test.prefix).count(.usual) == 1)
      // The sweep leaves it alone.
      #expect(try await test.open.dueJobs(limit: 10, lookAgainAfter: .zero, doors: DoorCatalog()).jobs.isEmpty)
    }
  }

  @Test func `a job that needs one endpoint waits in a line of its own`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let lease = try await test.lease(job("a", "A"), places: [place])
      try await test.release(job("a", "A"), lease, route: "app|Production|statuses")
      try await test.budgets.pause(place, "statuses", for: hour)
      try await join(test, job("a", "A"))
      // The other endpoint has calls, and others need it alone.
      guard
        case .taken(let other) = try await test.leases.take(
          job("b", "B"), for: hour, sweepAfter: hour, places: [place])
      else { throw NeverHappened(description: "another job's lease") }
      #expect(other.call?.endpoint == "info")
      try await open(test)
      #expect(try await next(test).jobs.map(\.lease.call?.endpoint) == ["statuses"])
    }
  }

  @Test func `a synchronization that has ended meanwhile takes no call`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await shut(test)
      for id in ["a", "b"] { try await join(test, job(id, "A")) }
      _ = try await test.redis.send(["DEL", test.prefix + "sync:1:a"])
      try await open(test)
      #expect(try await ids(test) == ["b"])
      #expect(try await lineKeys(test).isEmpty)
    }
  }

  @Test func `a job whose transaction is being run keeps its place, and holds up nobody`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await shut(test)
      try await join(test, job("a", "A"))
      try await join(test, job("b", "B"))
      let record = test.prefix + "transaction:1:\(transaction("a"))"
      _ = try await test.redis.send(["SET", record, "5\u{1f}9999999999999\u{1f}0\u{1f}\u{1f}\u{1f}"])
      try await open(test)
      #expect(try await ids(test) == ["b"])
      _ = try await test.redis.send(["DEL", record])
      try await open(test)
      #expect(try await ids(test) == ["a"])
    }
  }

  // MARK: The copy

  @Test func `a copy that comes back too early waits on, and an older one goes`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await shut(test)
      let copy = try await join(test, job("a", "A"))
      func take(_ copy: JobCopy) async throws -> LeaseAnswer {
        try await test.leases.take(job("a", "A"), copy: copy, for: hour, sweepAfter: hour, places: [place])
      }
      guard case .inLine(_, copy: copy) = try await take(JobCopy(delivered: copy)) else {
        throw NeverHappened(description: "the same place in the line")
      }
      // The same job from elsewhere has a copy of its own, and the first one goes.
      let second = try await join(test, job("a", "A"))
      #expect(try await take(JobCopy(delivered: copy)) == .superseded)
      #expect(try await CallLine(test.redis, prefix: test.prefix).count(.usual) == 1)
      try await open(test)
      #expect(try await next(test).jobs.map(\.copy) == [second])
    }
  }

  @Test func `a copy runs after the death of the worker that had the job, and counts it as a crash`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await shut(test)
      let copy = try await join(test, job("a", "A"))
      try await open(test)
      let line = CallLine(test.redis, prefix: test.prefix)
      let given = try await line.next(LineAllowances(all: 9), for: .milliseconds(1), doors: DoorCatalog()).jobs
      #expect(given.count == 1)
      func take() async throws -> LeaseAnswer {
        try await test.leases.take(
          job("a", "A"), copy: JobCopy(delivered: copy), for: hour, sweepAfter: hour, places: [place])
      }
      var answer = try await take()
      while case .busy = answer { answer = try await take() }
      guard case .taken(let lease) = answer else { throw NeverHappened(description: "the lease of the copy") }
      #expect(lease.crashes == 1 && lease.deliveries >= 2)
    }
  }

  @Test func `a copy in whose place another message has come is dropped`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await shut(test)
      let copy = try await join(test, job("a", "A"))
      try await test.leases.forget(JobCopy(delivered: "another"), of: job("a", "A"))
      #expect(try await test.redis.send(["HGET", test.prefix + "sync:1:a", "copy"]).string == copy)
      try await test.leases.forget(JobCopy(delivered: copy), of: job("a", "A"))
      #expect(
        try await test.leases.take(
          job("a", "A"), copy: JobCopy(delivered: copy), for: hour, sweepAfter: hour, places: [place]) == .superseded)
    }
  }

  @Test func `after a wipe of Redis the copy is the job`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await shut(test)
      let copy = try await join(test, job("a", "A"))
      try await test.wipe()
      guard
        case .taken = try await test.leases.take(
          job("a", "A"), copy: JobCopy(delivered: copy), for: hour, sweepAfter: hour, places: [place])
      else { throw NeverHappened(description: "the lease of the copy") }
    }
  }

  @Test func `a copy that comes back long after the end finds it`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await shut(test)
      try await join(test, job("a", "A"))
      try await open(test)
      let found = try #require(try await next(test).jobs.first)
      try await test.leases.finalize(FinalizedJob(job: found.job, fence: found.lease.fence))
      let rest = try await test.redis.send(["PTTL", test.prefix + "sync:1:a"]).integer ?? -1
      // The longest queue that a copy waits in.
      #expect(.milliseconds(rest) > DelayTiers.all[DelayTiers.all.count - 1])
    }
  }

  @Test func `a plain message that runs takes the place of the copy`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await shut(test)
      let copy = try await join(test, job("a", "A"))
      try await open(test)
      _ = try await CallLine(test.redis, prefix: test.prefix).next(
        LineAllowances(all: 9), for: .milliseconds(1), doors: DoorCatalog())
      // The sweep's message, after the death of the worker that the line gave the job to.
      var answer = LeaseAnswer.busy(.zero)
      while case .busy = answer {
        answer = try await test.leases.take(job("a", "A"), for: .milliseconds(1), sweepAfter: hour, places: [place])
      }
      guard case .taken = answer else { throw NeverHappened(description: "the lease of the message") }
      #expect(
        try await test.leases.take(
          job("a", "A"), copy: JobCopy(delivered: copy), for: hour, sweepAfter: hour, places: [place]) == .superseded)
    }
  }

  @Test func `a crash counts also where the copy joins the line again`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await shut(test)
      let copy = try await join(test, job("a", "A"))
      for crashes in 1...2 {
        try await open(test)
        _ = try await CallLine(test.redis, prefix: test.prefix).next(
          LineAllowances(all: 9), for: .milliseconds(1), doors: DoorCatalog())
        try await shut(test)
        var answer = LeaseAnswer.busy(.zero)
        while case .busy = answer {
          answer = try await test.leases.take(
            job("a", "A"), copy: JobCopy(delivered: copy), for: hour, sweepAfter: hour, places: [place])
        }
        guard case .inLine = answer else { throw NeverHappened(description: "a place in the line") }
        #expect(try await test.redis.send(["HGET", test.prefix + "sync:1:a", "crashes"]).string == "\(crashes)")
      }
      try await open(test)
      #expect(try await next(test).jobs.map(\.lease.crashes) == [2])
    }
  }

  @Test func `a job that the line has lost joins it again with its copy`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await shut(test)
      let copy = try await join(test, job("a", "A"))
      for key in try await lineKeys(test) { _ = try await test.redis.send(["DEL", key]) }
      let answer = try await test.leases.take(
        job("a", "A"), copy: JobCopy(delivered: copy), for: hour, sweepAfter: hour, places: [place])
      guard case .inLine = answer else { throw NeverHappened(description: "a place in the line") }
      try await open(test)
      #expect(try await ids(test) == ["a"])
    }
  }

  @Test func `the lines of a place take turns, so none keeps the calls from another`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      // A job that needs the statuses alone, behind thirty that take any endpoint.
      let lease = try await test.lease(job("s", "S"), places: [place])
      try await test.release(job("s", "S"), lease, route: "app|Production|statuses")
      try await shut(test)
      for number in 1...30 { try await join(test, job("p\(number)", "P\(number)")) }
      try await join(test, job("s", "S"))
      try await open(test)
      #expect(try await ids(test, 2).contains("s"))
    }
  }

  @Test func `a damaged record of a transaction stops no line`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await shut(test)
      try await join(test, job("a", "A"))
      try await join(test, job("b", "B"))
      _ = try await test.redis.send(["SET", test.prefix + "transaction:1:\(transaction("a"))", "damaged"])
      _ = try await test.redis.send(["DEL", test.prefix + "line:\(place.name):1:A"])
      try await open(test)
      #expect(try await ids(test) == ["b"])
    }
  }

  @Test func `whoever has an app's key takes turns as a client, whatever customers it names`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      try await shut(test)
      func stranger(_ id: Int, _ address: String) -> Job {
        Job(
          synchronizationId: SynchronizationId("x\(id)"), publisherId: 1, customerId: CustomerId("named \(id)"),
          transactionId: TransactionId("\(900 + id)"), door: Door("d", asker: .app), ipAddress: address,
          registeredAt: 1)
      }
      for id in 1...8 { try await join(test, stranger(id, "192.0.2.1")) }
      try await join(test, stranger(9, "192.0.2.2"))
      try await join(test, job("a", "A"))
      let parties = try await test.redis.send(["ZCARD", test.prefix + "line:\(place.name):1"]).integer
      #expect(parties == 3)
    }
  }
}
