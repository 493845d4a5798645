import AMQP
import Coordination
import Domain
import EventLoop
import Messaging
import Observability
import Redis
import Service
import TestSupport
import Testing

@testable import Worker

/// The runs of jobs out of the line for Apple's calls, by value.
@LoopActor
struct LineRunsTests {
  private let bench: JobRunBench
  private let line = LineByValue()
  private let joins = Followers<Void>()

  init() throws { bench = try JobRunBench() }

  private func runs(_ running: RunningTasks = RunningTasks()) -> LineRuns {
    LineRuns(
      LineRuns.Dependencies(
        jobs: bench.dependencies, next: { [line] in try line.next($0) },
        count: { [line] in try line.count($0) },
        publish: { [bench] in try await bench.broker.publishSurely($0) },
        publishOnce: { [bench] in try await bench.broker.publishSurely($0) }, topology: Topology(prefix: "cs"),
        log: Log(level: .error),
        metrics: LineMetrics(bench.metrics), isReady: { true }, joins: joins), running)
  }

  private func awaited(_ copy: String = "c", attempt: Int = 2) -> AwaitedJob {
    AwaitedJob(
      job: JobRunBench.job, attempt: attempt, copy: copy, waited: .seconds(3), lease: Lease(fence: 9, route: nil))
  }

  /// Lets a worker look once, and waits for the runs.
  private func look() async {
    let running = RunningTasks()
    await runs(running).take()
    await running.finish(within: .seconds(120))
  }

  @Test func `each lane's jobs are counted, and one that cannot be counted keeps its number`() async {
    let runs = runs()
    line.counts = [.usual: 4, .bulk: 9]
    await runs.count()
    line.counts = [.bulk: 8]
    await runs.count()
    #expect(bench.count("countersign_line_jobs", #"{lane="usual"}"#) == 4)
    #expect(bench.count("countersign_line_jobs", #"{lane="bulk"}"#) == 8)
  }

  @Test func `a job out of the line runs with the lease that it came with, and no message`() async {
    line.jobs = [awaited()]
    bench.attempts = [JobRunBench.attempt()]
    await look()
    #expect(bench.leases.askedForLease.isEmpty)
    #expect(bench.leases.finalized.map(\.fence) == [9])
    #expect(bench.broker.queues.filter { $0.hasPrefix("cs.jobs") }.isEmpty)
    #expect(bench.count("countersign_line_wait_seconds_sum") == 3)
    // One delivery before the line, and that of its copy.
    #expect(bench.count("countersign_job_deliveries_sum") == 2)
  }

  @Test func `a failed run goes on with a message of its own, and its copy is forgotten`() async {
    line.jobs = [awaited("c7", attempt: 1)]
    bench.attempts = [PurchaseVerification.Attempt(result: .failed(.network))]
    await look()
    #expect(bench.broker.queues == ["cs.jobs.delay.1000"])
    #expect(bench.broker.messages.first?.headers == ["countersign-attempt": 2, "traceparent": "00-t"])
    #expect(bench.leases.forgotten == ["c7"])
  }

  @Test func `a run that waits for another call keeps its copy`() async {
    line.jobs = [awaited()]
    bench.attempts = [PurchaseVerification.Attempt(result: .postponed(.budget, wait: .milliseconds(20)))]
    bench.leases.answers = [.success(.inLine(.milliseconds(20), copy: "c"))]
    await look()
    #expect(bench.leases.askedCopies == [JobCopy(delivered: "c")])
    #expect(bench.broker.queues.isEmpty && bench.leases.forgotten.isEmpty)
  }

  @Test func `a run that the ledger cannot finish waits with the name of its copy`() async {
    line.jobs = [awaited()]
    bench.leases.answers = [.failure(LeasesByValue.unreachable)]
    bench.attempts = [PurchaseVerification.Attempt(result: .postponed(.budget, wait: .milliseconds(20)))]
    await look()
    #expect(bench.broker.queues == ["cs.jobs.delay.1000"])
    // The message has the name of the copy, which must therefore stay known.
    #expect(bench.broker.messages.first?.headers["countersign-copy"] == "c")
    #expect(bench.leases.forgotten.isEmpty)
  }

  @Test func `a worker that stops gives the job to another one`() async throws {
    let running = RunningTasks()
    let runs = runs(running)
    line.jobs = [awaited()]
    bench.attempts = [PurchaseVerification.Attempt(result: .failed(.network))]
    bench.whileAsking = { _ in running.cancel() }
    await runs.take()
    await running.finish(within: .seconds(120))
    try await eventually("the job is back") { bench.broker.queues == ["cs.jobs"] }
    #expect(bench.broker.messages.first?.headers["countersign-copy"] == "c")
    #expect(bench.leases.forgotten.isEmpty)
  }

  @Test func `a worker asks for no more than it has places`() async {
    await look()
    // Those of one publisher alone, and some for another one.
    #expect(line.asked.map(\.all) == [10])
    let running = RunningTasks()
    running.close()
    await runs(running).take()
    #expect(line.asked.count == 1)
  }

  @Test func `jobs out of the line hold places of the line until they end`() async throws {
    line.jobs = [awaited()]
    bench.attempts = [JobRunBench.attempt()]
    var held = 0
    bench.whileAsking = { [bench] _ in held = bench.dependencies.places.shares.line.count }
    await look()
    #expect(held == 1)
    #expect(bench.dependencies.places.shares.line.count == 0)
  }

  @Test func `a worker tells what it may take of each publisher`() async {
    let places = bench.dependencies.places
    for _ in 0..<6 { _ = await places.take(4, .usual) }
    _ = await places.take(5, .bulk)
    await look()
    #expect(line.asked == [places.shares.allowances])
    #expect(line.asked.first?.publishers[4]?.all == 1)
    #expect(line.asked.first?.publishers[5]?.bulk == 0)
  }

  @Test func `without Redis a worker looks again later`() async {
    line.failure = LeasesByValue.unreachable
    await look()
    #expect(bench.asked == 0)
  }
}

/// The line in Redis as a list of jobs.
@LoopActor
private final class LineByValue {
  var jobs: [AwaitedJob] = []
  var failure: RedisError?
  private(set) var asked: [LineAllowances] = []
  /// A lane without a number cannot be counted.
  var counts: [JobLane: Int] = [:]

  func count(_ lane: JobLane) throws -> Int {
    guard let count = counts[lane] else { throw LeasesByValue.unreachable }
    return count
  }

  func next(_ allowances: LineAllowances) throws -> AwaitedJobs {
    asked.append(allowances)
    if let failure { throw failure }
    defer { jobs = [] }
    return AwaitedJobs(jobs: Array(jobs.prefix(allowances.all)))
  }
}
