import AMQP
import Domain
import EventLoop
import Messaging
import Redis
import Store
import Testing

@testable import Worker

/// The steps of a run, by the answers of Redis, Apple and the broker.
@LoopActor
struct JobRunTests {
  private let bench: JobRunBench

  init() async throws { bench = try JobRunBench() }

  // MARK: Apple's answer

  @Test func `a purchase that is active is finalized, told, and only then acknowledged`() async {
    bench.findings = [JobRunBench.finding()]
    let delivery = await bench.run()
    #expect(bench.store.finalized == [JobRunBench.granted])
    #expect(bench.store.routes == ["app|Production"])
    #expect(bench.store.reuse == [.seconds(3)])
    #expect(bench.broker.queues == ["cs.events"])
    #expect(bench.broker.messages.first?.headers["version"] == 5)
    #expect(bench.store.told == [JobRunBench.job])
    #expect(delivery.fate == .acknowledged)
    #expect(bench.count("countersign_results_total", #"{result="PURCHASE_SYNCHRONIZED"}"#) == 1)
  }

  @Test func `an answer that was kept from an earlier run covers no other registration`() async {
    bench.findings = [JobRunBench.finding(isFresh: false)]
    await bench.run()
    #expect(bench.store.finalized == [JobRunBench.granted])
    #expect(bench.store.reuse == [.zero])
  }

  @Test func `a purchase that has ended gives no access`() async {
    bench.findings = [JobRunBench.finding(expiresDate: JobRunBench.now)]
    await bench.run()
    #expect(
      bench.store.finalized
        == [Outcome(.receivedExpiredPurchase, originalTransactionId: "99", environment: "Production")])
    #expect(bench.store.reuse == [.zero])
  }

  @Test func `what Apple rejects is finalized at once`() async {
    bench.findings = [PurchaseVerification.Finding(outcome: .rejected(.appMismatch))]
    await bench.run()
    #expect(bench.store.finalized == [Outcome(.appMismatch)])
  }

  @Test func `a failure waits for its turn in the schedule, as the next attempt`() async {
    bench.findings = [PurchaseVerification.Finding(outcome: .failed(.network), route: Route(place: "a|b"))]
    let delivery = await bench.run(attempt: 2, wasRedelivered: true)
    #expect(
      bench.store.released == [.init(isRetrying: true, isRun: true, sweepAfter: .milliseconds(154_100), route: "a|b")])
    #expect(bench.broker.queues == ["cs.jobs.delay.30000"])
    // 31 seconds: the header says that the wait goes on behind that queue. The job has run, so the old crash counts no
    // more.
    #expect(
      bench.broker.messages.first?.headers == [
        "countersign-attempt": 3, "countersign-due": .int(JobRunBench.now + 32_000), "traceparent": "00-t",
      ])
    #expect(delivery.fate == .acknowledged)
    #expect(bench.store.finalized.isEmpty)
    #expect(bench.count("countersign_job_retries_total", #"{cause="network"}"#) == 1)
  }

  @Test func `the last failure is finalized as an error of ours`() async {
    bench.findings = [PurchaseVerification.Finding(outcome: .failed(.network))]
    await bench.run(attempt: 3)
    #expect(bench.store.finalized == [Outcome(.internalError)])
    #expect(bench.broker.queues == ["cs.events"])
  }

  @Test func `a transaction that Apple does not know is asked for again, and then not found`() async {
    bench.findings = [PurchaseVerification.Finding(outcome: .unknownTransaction)]
    await bench.run()
    #expect(bench.broker.queues == ["cs.jobs.delay.1000"])
    #expect(bench.store.finalized.isEmpty)
    bench.findings = [PurchaseVerification.Finding(outcome: .unknownTransaction)]
    await bench.run(attempt: 2)
    #expect(bench.store.finalized == [Outcome(.transactionIdNotFound)])
  }

  @Test func `a call that was not made is no attempt, and proves nothing about a crash`() async {
    bench.findings = [PurchaseVerification.Finding(outcome: .postponed(.budget, wait: .seconds(15)))]
    let delivery = await bench.run(attempt: 2, wasRedelivered: true)
    #expect(bench.store.released == [.init(isRetrying: false, isRun: false, sweepAfter: .milliseconds(136_500))])
    #expect(bench.broker.queues == ["cs.jobs.delay.10000"])
    #expect(bench.broker.messages.first?.headers["countersign-attempt"] == 2)
    #expect(bench.broker.messages.first?.headers["countersign-redelivered"] == true)
    #expect(delivery.fate == .acknowledged)
  }

  @Test func `an answer of a moment ago needs no call, as long as the offer is sold`() async throws {
    bench.store.leases = [.success(.taken(Lease(fence: 6, route: nil, covered: JobRunBench.granted)))]
    await bench.run()
    #expect(bench.asked == 0)
    #expect(bench.store.finalized == [JobRunBench.granted])
    #expect(bench.store.reuse == [.zero])

    var gone = JobRunBench.granted
    gone.offerId = "S2"
    bench.store.leases = [.success(.taken(Lease(fence: 7, route: nil, covered: gone)))]
    bench.findings = [JobRunBench.finding()]
    await bench.run()
    #expect(bench.asked == 1)
    #expect(bench.store.finalized == [JobRunBench.granted, JobRunBench.granted])
  }

  @Test func `an answer of a moment ago about the sandbox covers nobody whose publisher does not allow it`() async {
    var sandbox = JobRunBench.granted
    sandbox.environment = "Sandbox"
    bench.store.leases = [.success(.taken(Lease(fence: 6, route: nil, covered: sandbox)))]
    bench.findings = [PurchaseVerification.Finding(outcome: .rejected(.appMismatch))]
    await bench.run()
    #expect(bench.asked == 1)
    #expect(bench.store.finalized == [Outcome(.appMismatch)])
  }

  @Test func `without an app Apple knows nothing, and without a publisher nobody knows yet`() async {
    await bench.run()
    #expect(bench.count("countersign_job_retries_total", #"{cause="not_found_yet"}"#) == 1)
    let stranger = Job(
      synchronizationId: "s", publisherId: 2, customerId: 7, transactionId: "100", registeredAt: JobRunBench.now)
    await bench.run(stranger)
    #expect(bench.count("countersign_job_retries_total", #"{cause="publisher_unknown"}"#) == 1)
    #expect(bench.store.finalized.isEmpty)
  }

  // MARK: The lease

  @Test func `a finalized synchronization is told again with the same event, and nothing else`() async {
    let done = StoreByValue.synchronization(of: JobRunBench.job, JobRunBench.granted, version: 3)
    bench.store.leases = [.success(.finalized(done))]
    let delivery = await bench.run()
    #expect(bench.asked == 0)
    #expect(bench.store.finalized.isEmpty)
    #expect(bench.broker.queues == ["cs.events"])
    #expect(bench.broker.messages.first?.messageID == EventMessage.id(publisher: 1, synchronization: "s"))
    #expect(bench.broker.messages.first?.headers["version"] == 3)
    #expect(bench.store.told == [JobRunBench.job])
    #expect(delivery.fate == .acknowledged)
  }

  @Test func `a lease that another run has is waited for`() async {
    bench.store.leases = [.success(.busy(.milliseconds(14_600)))]
    let delivery = await bench.run(wasRedelivered: true)
    #expect(bench.asked == 0)
    #expect(bench.broker.queues == ["cs.jobs.delay.10000"])
    #expect(
      bench.broker.messages.first?.headers == [
        "countersign-attempt": 1, "countersign-due": .int(JobRunBench.now + 15_000), "traceparent": "00-t",
        "countersign-redelivered": true,
      ])
    #expect(delivery.fate == .acknowledged)
    #expect(bench.store.released.isEmpty)
  }

  @Test func `a budget that is used up is waited for`() async {
    bench.store.leases = [.success(.wait(.milliseconds(20)))]
    await bench.run()
    #expect(bench.asked == 0)
    #expect(bench.broker.queues == ["cs.jobs.delay.1000"])
    #expect(bench.count("countersign_budget_waits_total") == 1)
    #expect(bench.count("countersign_job_retries_total", #"{cause="budget"}"#) == 1)
  }

  @Test func `a job whose id has become another registration's is buried`() async {
    bench.store.leases = [.success(.foreign)]
    let delivery = await bench.run()
    #expect(bench.broker.queues == ["cs.jobs.dead"])
    #expect(delivery.fate == .acknowledged)
    #expect(bench.asked == 0)
    #expect(bench.count("countersign_dead_jobs_total") == 1)
  }

  @Test(arguments: [
    (StoreByValue.unreachable, "cs.jobs.delay.1000", "store_unavailable"),
    (StoreByValue.newer, "cs.jobs.delay.5000", "newer_format"),
  ])
  func `a job whose lease Redis does not give is put off`(error: RedisError, queue: String, cause: String) async {
    bench.store.leases = [.failure(error)]
    let delivery = await bench.run(attempt: 2, wasRedelivered: true)
    #expect(bench.asked == 0)
    #expect(bench.broker.queues == [queue])
    #expect(bench.broker.messages.first?.headers["countersign-attempt"] == 2)
    #expect(bench.broker.messages.first?.headers["countersign-redelivered"] == true)
    #expect(delivery.fate == .acknowledged)
    #expect(bench.count("countersign_job_retries_total", "{cause=\"\(cause)\"}") == 1)
  }

  // MARK: The result

  @Test func `a stale result has no effect, and its job comes back`() async {
    bench.findings = [JobRunBench.finding()]
    bench.store.finalization = .success(.stale)
    let delivery = await bench.run(attempt: 2, wasRedelivered: true)
    #expect(bench.broker.queues == ["cs.jobs.delay.1000"])
    #expect(bench.broker.messages.first?.headers["countersign-attempt"] == 2)
    #expect(bench.broker.messages.first?.headers["countersign-redelivered"] == nil)
    #expect(bench.store.told.isEmpty)
    #expect(delivery.fate == .acknowledged)
    #expect(bench.count("countersign_stale_runs_total") == 1)
  }

  @Test func `the event is that of the run that has finalized`() async {
    bench.findings = [JobRunBench.finding()]
    let refused = Outcome(.purchaseRevoked, originalTransactionId: "99", environment: "Production")
    bench.store.finalization = .success(
      .finalized(StoreByValue.synchronization(of: JobRunBench.job, refused, version: 9)))
    let delivery = await bench.run()
    #expect(bench.broker.messages.first?.headers["version"] == 9)
    let body = String(decoding: bench.broker.messages.first?.body ?? [], as: UTF8.self)
    #expect(body.contains("PURCHASE_REVOKED"))
    #expect(bench.count("countersign_stale_runs_total") == 1)
    #expect(delivery.fate == .acknowledged)
  }

  @Test(arguments: [
    (StoreByValue.unreachable, "cs.jobs.delay.1000"), (StoreByValue.newer, "cs.jobs.delay.5000"),
  ])
  func `a result that Redis does not take is found out again`(error: RedisError, queue: String) async {
    bench.findings = [JobRunBench.finding()]
    bench.store.finalization = .failure(error)
    let delivery = await bench.run(attempt: 2)
    #expect(bench.broker.queues == [queue])
    #expect(bench.broker.messages.first?.headers["countersign-attempt"] == 2)
    #expect(bench.store.told.isEmpty)
    #expect(delivery.fate == .acknowledged)
  }

  @Test func `a broker that takes nothing gets its message back, later`() async {
    bench.broker.failure = AMQPError(.timeout, operation: "publish", target: "broker", cause: "no confirm")
    bench.findings = [JobRunBench.finding()]
    let delivery = await bench.run()
    #expect(bench.store.told.isEmpty)
    #expect(delivery.fate == .requeuedLater)
  }

  @Test func `a worker that stops hands back the job whose call was broken off`() async {
    bench.findings = [PurchaseVerification.Finding(outcome: .failed(.network), route: Route(place: "a|b"))]
    let stopping = Task { @LoopActor in
      withUnsafeCurrentTask { $0?.cancel() }
      return await bench.run()
    }
    let delivery = await stopping.value
    #expect(delivery.fate == .requeued)
    #expect(
      bench.store.released == [.init(isRetrying: false, isRun: false, sweepAfter: .seconds(120), route: "a|b")])
    #expect(bench.broker.messages.isEmpty)
  }

  // MARK: Delays

  @Test func `a job that has not waited long enough goes on waiting, and is not run`() async {
    let delivery = await bench.run(attempt: 2, due: JobRunBench.now + 1000, wasRedelivered: true)
    #expect(bench.store.askedForLease.isEmpty)
    #expect(bench.broker.queues == ["cs.jobs.delay.1000"])
    #expect(
      bench.broker.messages.first?.headers
        == ["countersign-attempt": 2, "countersign-redelivered": true, "traceparent": "00-t"])
    #expect(delivery.fate == .acknowledged)
    #expect(bench.count("countersign_job_retries_total", #"{cause="busy"}"#) == 0)
  }

  @Test func `a job that is due runs`() async {
    bench.findings = [JobRunBench.finding()]
    await bench.run(due: JobRunBench.now)
    #expect(bench.store.finalized == [JobRunBench.granted])
  }

  // MARK: No job for this worker

  @Test func `a message that is no job is buried with the reason`() async {
    let delivery = DeliveryByValue(Array("{".utf8), [:])
    await JobRun.work(on: delivery, with: bench.dependencies)
    #expect(bench.broker.queues == ["cs.jobs.dead"])
    #expect(bench.broker.messages.first?.headers["countersign-reason"] == "not a job: the body is not JSON")
    #expect(delivery.fate == .acknowledged)
  }

  @Test func `what cannot be buried or put off stays in the queue`() async {
    bench.broker.failure = AMQPError(.timeout, operation: "publish", target: "broker", cause: "no confirm")
    for body in ["{", #"{"format":2}"#] {
      let delivery = DeliveryByValue(Array(body.utf8), [:])
      await JobRun.work(on: delivery, with: bench.dependencies)
      #expect(delivery.fate == .requeuedLater)
    }
  }

  @Test func `a job of a newer format goes round until a newer worker takes it, and Redis is not asked`() async {
    let body = Array(#"{"format":2,"everything":"else"}"#.utf8)
    var headers: [String: AMQPValue] = ["countersign-attempt": 4, "traceparent": "00-t"]
    for (round, queue) in ["1000", "5000", "30000", "30000", "30000"].enumerated() {
      let delivery = DeliveryByValue(body, headers)
      await JobRun.work(on: delivery, with: bench.dependencies)
      let message = bench.broker.messages[round]
      #expect(bench.broker.queues.last == "cs.jobs.delay.\(queue)")
      #expect(message.body == body)
      headers["countersign-parks"] = .int(Int64(round) + 1)
      #expect(message.headers == headers)
      #expect(delivery.fate == .acknowledged)
    }
    #expect(bench.store.askedForLease.isEmpty)
    #expect(bench.count("countersign_job_retries_total", #"{cause="newer_format"}"#) == 5)
    #expect(bench.count("countersign_dead_jobs_total") == 0)
  }

  @Test func `each cause of a retry is exported before it happens`() {
    for cause in RetryCause.allCases {
      #expect(bench.count("countersign_job_retries_total", "{cause=\"\(cause.rawValue)\"}") == 0)
    }
  }
}
