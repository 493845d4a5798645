import AMQP
import Coordination
import Domain
import EventLoop
import Messaging
import Redis
import Testing

@testable import Worker

/// The steps of a run, by the answers of Redis, Apple and the broker.
@LoopActor
struct JobRunTests {
  private let bench: JobRunBench

  init() async throws { bench = try JobRunBench() }

  // MARK: Apple's answer

  @Test func `a purchase that has ended gives no access, and covers no other registration`() async {
    bench.attempts = [JobRunBench.attempt(expiresDate: JobRunBench.now)]
    await bench.run()
    #expect(
      bench.ledger.results
        == [SynchronizationResult(.receivedExpiredPurchase, originalTransactionId: "99", environment: "Production")])
    #expect(bench.leases.finalized.map(\.fresh) == [nil])
  }

  @Test func `an answer that was kept from an earlier run covers no other registration`() async {
    bench.attempts = [JobRunBench.attempt(isFresh: false)]
    await bench.run()
    #expect(bench.ledger.results == [JobRunBench.granted])
    #expect(bench.leases.finalized.map(\.fresh) == [nil])
  }

  @Test func `what Apple rejects is finalized at once`() async {
    bench.attempts = [PurchaseVerification.Attempt(result: .rejected(.appMismatch))]
    await bench.run()
    #expect(bench.ledger.results == [SynchronizationResult(.appMismatch)])
  }

  @Test func `a failure waits for its turn in the schedule, as the next attempt`() async {
    bench.attempts = [PurchaseVerification.Attempt(result: .failed(.network), route: AppleRoute(place: "a|b"))]
    let delivery = await bench.run(attempt: 2, wasRedelivered: true)
    #expect(
      bench.leases.released == [.init(isRetrying: true, isRun: true, sweepAfter: .milliseconds(154_100), route: "a|b")])
    #expect(bench.broker.queues == ["cs.jobs.delay.30000"])
    // 31 seconds: the header says that the wait goes on behind that queue. The job has run, so the old crash no
    // longer counts.
    #expect(
      bench.broker.messages.first?.headers == [
        "countersign-attempt": 3, "countersign-due": .int(JobRunBench.now + 32_000), "traceparent": "00-t",
      ])
    #expect(delivery.fate == .acknowledged)
    #expect(bench.ledger.results.isEmpty)
    // The job waits for more than 30 seconds, so the ledger keeps it too.
    #expect(bench.ledger.postponed == [JobRunBench.now + 34_100])
    #expect(bench.count("countersign_job_retries_total", #"{cause="network"}"#) == 1)
  }

  @Test func `a job whose key Apple refuses waits without counting attempts`() async {
    // The schedule is used up, and the job waits all the same.
    bench.attempts = [PurchaseVerification.Attempt(result: .refused(wait: .seconds(5)))]
    let delivery = await bench.run(attempt: 3)
    #expect(bench.broker.queues == ["cs.jobs.delay.5000"])
    #expect(bench.broker.messages.first?.headers["countersign-attempt"] == 3)
    #expect(bench.leases.released.map(\.isRetrying) == [true])
    #expect(delivery.fate == .acknowledged)
    #expect(bench.ledger.results.isEmpty)
    #expect(bench.count("countersign_job_retries_total", #"{cause="unauthorized"}"#) == 1)
  }

  @Test func `many such jobs of a publisher wait for their turns, in steps that others do not share`() async {
    bench.attempts = [PurchaseVerification.Attempt(result: .refused(wait: .seconds(5)))]
    bench.turn = .success(.seconds(3600))
    await bench.run()
    #expect(bench.broker.queues == ["cs.jobs.delay.1800000"])
    // No earlier than its turn. A wait of an hour for another cause could end six minutes late, this one half a minute.
    #expect(bench.broker.messages.first?.headers["countersign-due"] == .int(JobRunBench.now + 3_600_000))
    // Neither the sweep of Redis nor that of the ledger comes before it.
    #expect(bench.leases.released.map(\.sweepAfter) == [.seconds(120 + 3600 + 360)])
    #expect(bench.ledger.postponed == [JobRunBench.now + 3_960_000])

    bench.attempts = [PurchaseVerification.Attempt(result: .refused(wait: .seconds(300)))]
    bench.turn = .success(.seconds(299))
    await bench.run()
    #expect(bench.broker.queues.last == "cs.jobs.delay.300000")
  }

  @Test func `without Redis' answer such a job waits for five minutes`() async {
    bench.attempts = [PurchaseVerification.Attempt(result: .refused(wait: .seconds(5)))]
    bench.turn = .failure(LeasesByValue.unreachable)
    let delivery = await bench.run()
    #expect(bench.broker.queues == ["cs.jobs.delay.300000"])
    #expect(delivery.fate == .acknowledged)
  }

  @Test func `a job that waits for another cause takes no turn`() async {
    bench.turn = .success(.seconds(3600))
    bench.attempts = [PurchaseVerification.Attempt(result: .failed(.network))]
    await bench.run()
    #expect(bench.broker.queues == ["cs.jobs.delay.1000"])
  }

  @Test func `a lease is asked for the places only that may be called`() async throws {
    let apple = try AppleByValue()
    bench.places = AppPlace.all(
      of: Publisher(
        id: 1, customers: .open, tokenHashes: [], customerTokens: nil, apps: [apple.app()], offers: OfferCatalog([]),
        webhooks: []), budgetScale: 1)
    for isRefused in [false, true] {
      if isRefused { _ = bench.places[0].standing.value.refuse(at: JobRunBench.now) }
      bench.attempts = [PurchaseVerification.Attempt(result: .refused(wait: .seconds(5)))]
      await bench.run()
    }
    let names = bench.leases.askedPlaces.map { $0.map(\.name) }
    #expect(names == [["com.example|Production", "com.example|Sandbox"], []])
  }

  @Test func `after thirty days a job whose key Apple refuses ends`() async {
    let old = Job(
      synchronizationId: "s", publisherId: 1, customerId: "7", transactionId: "100",
      registeredAt: JobRunBench.now - 30 * 86_400_000, traceparent: "00-t")
    bench.attempts = [PurchaseVerification.Attempt(result: .refused(wait: .seconds(5)))]
    await bench.run(old)
    #expect(bench.ledger.results == [SynchronizationResult(.internalError)])
  }

  @Test func `a job that waits for long is delayed, also when the ledger does not keep it`() async {
    bench.ledger.failure = LedgerByValue.refused
    bench.attempts = [PurchaseVerification.Attempt(result: .failed(.network))]
    let delivery = await bench.run(attempt: 2)
    #expect(bench.broker.queues == ["cs.jobs.delay.30000"])
    #expect(delivery.fate == .acknowledged)
  }

  @Test func `the last failure is finalized as an error of ours`() async {
    bench.attempts = [PurchaseVerification.Attempt(result: .failed(.network))]
    await bench.run(attempt: 3)
    #expect(bench.ledger.results == [SynchronizationResult(.internalError)])
    #expect(bench.broker.queues == ["cs.notifier"])
    #expect(bench.ledger.postponed.isEmpty)
  }

  @Test func `a transaction that Apple does not know is asked for again, and then not found`() async {
    bench.attempts = [PurchaseVerification.Attempt(result: .unknownTransaction)]
    await bench.run()
    #expect(bench.broker.queues == ["cs.jobs.delay.1000"])
    #expect(bench.ledger.results.isEmpty)
    bench.attempts = [PurchaseVerification.Attempt(result: .unknownTransaction)]
    await bench.run(attempt: 2)
    #expect(bench.ledger.results == [SynchronizationResult(.transactionIdNotFound)])
  }

  @Test func `a call that was not made is no attempt, and proves nothing about a crash`() async {
    bench.attempts = [PurchaseVerification.Attempt(result: .postponed(.storeUnavailable, wait: .seconds(15)))]
    let delivery = await bench.run(attempt: 2, wasRedelivered: true)
    #expect(bench.leases.released == [.init(isRetrying: false, isRun: false, sweepAfter: .milliseconds(136_500))])
    #expect(bench.broker.queues == ["cs.jobs.delay.10000"])
    #expect(bench.broker.messages.first?.headers["countersign-attempt"] == 2)
    #expect(bench.broker.messages.first?.headers["countersign-redelivered"] == true)
    #expect(delivery.fate == .acknowledged)
    // The ledger keeps only jobs that wait for more than 30 seconds.
    #expect(bench.ledger.postponed.isEmpty)
  }

  @Test func `a purchase about which Apple spoke a moment ago needs no call, and the ledger decides`() async {
    for environment in [Environment.production, .sandbox] {
      let covered = CoveredPurchase(originalTransactionId: "99", environment: environment)
      bench.leases.answers = [.success(.taken(Lease(fence: 6, route: "app|\(environment)", covered: covered)))]
      bench.ledger.purchases = [JobRunBench.purchase(in: environment)]
      await bench.run()
    }
    #expect(bench.asked == 0)
    #expect(bench.ledger.keys == [JobRunBench.key, JobRunBench.key(in: "Sandbox")])
    #expect(
      bench.ledger.results == [
        JobRunBench.granted,
        SynchronizationResult(.sandboxNotAllowed, originalTransactionId: "99", environment: "Sandbox"),
      ])
    // A covered result makes nothing last longer: only a call does.
    #expect(
      bench.leases.finalized == [
        FinalizedJob(job: JobRunBench.job, fence: 6, route: "app|Production"),
        FinalizedJob(job: JobRunBench.job, fence: 6, route: "app|Sandbox"),
      ])
    #expect(bench.count("countersign_covered_runs_total") == 2)
  }

  @Test func `a transfer needs no call: the ledger knows the purchase by its transaction, or nobody does`() async {
    let transfer = Job(
      synchronizationId: "s", publisherId: 1, customerId: "7", transactionId: "100", kind: .transfer,
      registeredAt: JobRunBench.now)
    await bench.run(transfer)
    bench.ledger.purchases = [JobRunBench.purchase()]
    await bench.run(transfer)
    #expect(bench.asked == 0)
    #expect(bench.ledger.keys == [nil, nil])
    #expect(bench.ledger.results.map(\.code) == [.purchaseNotFound, .purchaseOwnershipTransferred])
    #expect(bench.count("countersign_covered_runs_total") == 0)
  }

  @Test func `without an app Apple knows nothing, and without a publisher nobody knows yet`() async {
    await bench.run()
    #expect(bench.count("countersign_job_retries_total", #"{cause="not_found_yet"}"#) == 1)
    let stranger = Job(
      synchronizationId: "s", publisherId: 2, customerId: "7", transactionId: "100", registeredAt: JobRunBench.now)
    await bench.run(stranger)
    #expect(bench.count("countersign_job_retries_total", #"{cause="publisher_unknown"}"#) == 1)
    #expect(bench.ledger.results.isEmpty)
  }

  // MARK: The lease

  @Test func `a synchronization that Redis knows as finalized is acknowledged: the outbox has its event`() async {
    bench.leases.answers = [.success(.finalized)]
    let delivery = await bench.run(wasRedelivered: true)
    #expect(bench.asked == 0)
    #expect(bench.ledger.requests.isEmpty)
    #expect(bench.broker.messages.isEmpty)
    #expect(bench.leases.finalized.isEmpty)
    #expect(delivery.fate == .acknowledged)
  }

  @Test func `a lease that another run has is waited for`() async {
    bench.leases.answers = [.success(.busy(.milliseconds(14_600)))]
    let delivery = await bench.run(wasRedelivered: true)
    #expect(bench.asked == 0)
    #expect(bench.broker.queues == ["cs.jobs.delay.10000"])
    #expect(
      bench.broker.messages.first?.headers == [
        "countersign-attempt": 1, "countersign-due": .int(JobRunBench.now + 15_000), "traceparent": "00-t",
        "countersign-redelivered": true,
      ])
    #expect(delivery.fate == .acknowledged)
    #expect(bench.leases.released.isEmpty)
  }

  @Test func `a job without a call left waits in the line, and leaves its copy at the broker`() async {
    bench.leases.answers = [.success(.inLine(.seconds(20), copy: "c"))]
    let delivery = await bench.run(attempt: 2)
    #expect(bench.asked == 0)
    // 35 seconds, in one queue.
    #expect(bench.broker.queues == ["cs.jobs.delay.60000"])
    #expect(
      bench.broker.messages.first?.headers == [
        "countersign-attempt": 2, "countersign-copy": "c", "traceparent": "00-t",
      ])
    #expect(delivery.fate == .acknowledged)
    #expect(bench.joined == 1)
    #expect(bench.count("countersign_budget_waits_total") == 1)
    #expect(bench.count("countersign_job_retries_total", #"{cause="budget"}"#) == 1)
  }

  @Test func `a copy is known by its name, also where it is put off again`() async {
    let message = JobMessage.message(JobRunBench.job, attempt: 1, queue: "cs.jobs", copy: "c")
    bench.leases.answers = [.success(.busy(.seconds(1)))]
    await JobRun.work(on: DeliveryByValue(message.body, message.headers), with: bench.dependencies)
    #expect(bench.leases.askedCopies == [JobCopy(delivered: "c")])
    #expect(bench.broker.messages.first?.headers["countersign-copy"] == "c")
    // What has no copy yet gets one with a name that nothing else has.
    for _ in 0..<2 { await bench.run() }
    let made = bench.leases.askedCopies.dropFirst()
    #expect(made.allSatisfy { !$0.isDelivered } && Set(made.map(\.id)).count == 2)
    #expect(bench.broker.messages.dropFirst().allSatisfy { $0.headers["countersign-copy"] == nil })
  }

  @Test func `a copy in whose place another message has come goes`() async {
    bench.leases.answers = [.success(.superseded)]
    let delivery = await bench.run()
    #expect(bench.asked == 0 && bench.broker.queues.isEmpty && delivery.fate == .acknowledged)
  }

  @Test func `a run whose next call is missing joins the line with the answers it has`() async {
    let route = AppleRoute(place: "app|Production", endpoint: "info", answers: "kept")
    bench.attempts = [PurchaseVerification.Attempt(result: .postponed(.budget, wait: .milliseconds(20)), route: route)]
    bench.leases.answers = [
      .success(.taken(Lease(fence: 5, route: nil))), .success(.inLine(.milliseconds(20), copy: "c")),
    ]
    let delivery = await bench.run(attempt: 2)
    #expect(bench.leases.released.map(\.route) == [route.text])
    #expect(bench.leases.released.map(\.isRun) == [false])
    #expect(bench.broker.queues == ["cs.jobs.delay.10000"])
    #expect(bench.broker.messages.first?.headers["countersign-attempt"] == 2)
    #expect(delivery.fate == .acknowledged)
  }

  @Test func `a run whose next call has come free meanwhile goes on`() async {
    bench.attempts = [
      PurchaseVerification.Attempt(result: .postponed(.budget, wait: .milliseconds(20))), JobRunBench.attempt(),
    ]
    let call = CallPermit(place: "app|Production", endpoint: "info")
    bench.leases.answers = [.success(.taken(Lease(fence: 5, route: nil, call: call)))]
    let delivery = await bench.run()
    #expect(bench.asked == 2 && bench.leases.askedForLease.count == 2)
    #expect(bench.broker.queues.filter { $0.contains("delay") }.isEmpty)
    #expect(bench.leases.finalized.count == 1 && delivery.fate == .acknowledged)
  }

  @Test func `a run that may ask no place in the line waits at the broker, and does not ask again at once`() async {
    bench.attempts = [PurchaseVerification.Attempt(result: .postponed(.budget, wait: .seconds(5)))]
    let delivery = await bench.run()
    #expect(bench.asked == 1 && bench.leases.askedForLease.count == 2)
    #expect(bench.broker.queues == ["cs.jobs.delay.5000"])
    #expect(bench.leases.released.count == 2 && delivery.fate == .acknowledged)
  }

  @Test func `a copy that fails is replaced by a message of its own`() async {
    let message = JobMessage.message(JobRunBench.job, attempt: 1, queue: "cs.jobs", copy: "c")
    bench.attempts = [PurchaseVerification.Attempt(result: .failed(.network))]
    await JobRun.work(on: DeliveryByValue(message.body, message.headers), with: bench.dependencies)
    #expect(bench.broker.messages.map { $0.headers["countersign-copy"] } == [nil])
    #expect(bench.leases.forgotten == ["c"])
  }

  @Test func `a job whose id has become another registration's is buried`() async {
    bench.leases.answers = [.success(.foreign)]
    let delivery = await bench.run()
    #expect(bench.broker.queues == ["cs.jobs.dead"])
    #expect(delivery.fate == .acknowledged)
    #expect(bench.asked == 0)
    #expect(bench.count("countersign_dead_jobs_total") == 1)
  }

  @Test(arguments: [
    (LeasesByValue.unreachable, "cs.jobs.delay.1000", "store_unavailable"),
    (LeasesByValue.newer, "cs.jobs.delay.5000", "newer_format"),
  ])
  func `a job whose lease Redis does not give is put off`(error: RedisError, queue: String, cause: String) async {
    bench.leases.answers = [.failure(error)]
    let delivery = await bench.run(attempt: 2, wasRedelivered: true)
    #expect(bench.asked == 0)
    #expect(bench.broker.queues == [queue])
    #expect(bench.broker.messages.first?.headers["countersign-attempt"] == 2)
    #expect(bench.broker.messages.first?.headers["countersign-redelivered"] == true)
    #expect(delivery.fate == .acknowledged)
    #expect(bench.count("countersign_job_retries_total", "{cause=\"\(cause)\"}") == 1)
  }

  @Test func `a worker that stops hands back the job whose call was broken off`() async {
    bench.attempts = [PurchaseVerification.Attempt(result: .failed(.network), route: AppleRoute(place: "a|b"))]
    let stopping = Task { @LoopActor in
      withUnsafeCurrentTask { $0?.cancel() }
      return await bench.run()
    }
    let delivery = await stopping.value
    #expect(delivery.fate == .requeued)
    #expect(
      bench.leases.released == [.init(isRetrying: false, isRun: false, sweepAfter: .seconds(120), route: "a|b")])
    #expect(bench.broker.messages.isEmpty)
  }

  // MARK: Delays

  @Test func `a job that has not waited long enough goes on waiting, and is not run`() async {
    let delivery = await bench.run(attempt: 2, due: JobRunBench.now + 1000, wasRedelivered: true)
    #expect(bench.leases.askedForLease.isEmpty)
    #expect(bench.broker.queues == ["cs.jobs.delay.1000"])
    #expect(
      bench.broker.messages.first?.headers
        == ["countersign-attempt": 2, "countersign-redelivered": true, "traceparent": "00-t"])
    #expect(delivery.fate == .acknowledged)
    #expect(bench.count("countersign_job_retries_total", #"{cause="busy"}"#) == 0)
  }

  @Test func `a job that is due runs`() async {
    bench.attempts = [JobRunBench.attempt()]
    await bench.run(due: JobRunBench.now)
    #expect(bench.ledger.results == [JobRunBench.granted])
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
    bench.broker.failure = BrokerByValue.noConfirm
    for body in ["{", #"{"format":2}"#] {
      let delivery = DeliveryByValue(Array(body.utf8), [:])
      await JobRun.work(on: delivery, with: bench.dependencies)
      #expect(delivery.fate == .requeuedLater)
    }
  }

  @Test func `a job of a newer format goes round until a newer worker takes it, and Redis is not asked`() async {
    let body = Array(#"{"format":4,"everything":"else"}"#.utf8)
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
    #expect(bench.leases.askedForLease.isEmpty)
    #expect(bench.count("countersign_job_retries_total", #"{cause="newer_format"}"#) == 5)
    #expect(bench.count("countersign_dead_jobs_total") == 0)
  }

  @Test func `each cause of a retry is exported before it happens`() {
    for cause in RetryCause.allCases {
      #expect(bench.count("countersign_job_retries_total", "{cause=\"\(cause.rawValue)\"}") == 0)
    }
  }
}
