import AMQP
import Configuration
import Domain
import EventLoop
import Glibc
import Messaging
import Observability
import Service
import Store

/// One run of a job, from delivery to acknowledgement. It reads from top to bottom as the way of one purchase.
///
/// Each of the thousands of jobs in flight takes memory for everything that its suspended functions may need again. So
/// a run is an object, and rare steps have functions of their own (docs/internals/never-inlined.md).
@LoopActor
final class JobRun {
  let job: Job
  /// The lease that Redis gave to the run last.
  private(set) var lease = Lease(fence: 0, route: nil)

  let dependencies: Dependencies
  let received: any JobDelivery
  let attempt: Int
  let log: Log
  /// Whether no other job may run now.
  var isAlone = false
  /// The publisher's rules for the customer, from the time when the worker asked Apple.
  private var rules = AccessRules.none

  init(_ received: any JobDelivery, with dependencies: Dependencies) throws(JobMessage.Unreadable) {
    (job, attempt) = try JobMessage.read(received.delivery)
    self.received = received
    self.dependencies = dependencies
    log = dependencies.log.with([
      "synchronizationId": .string(job.synchronizationId), "transactionId": .string(job.transactionId),
      "publisherId": .int(job.publisherId), "attempt": .int(Int64(attempt)),
      "traceId": .string(job.traceparent.flatMap { TraceParent($0)?.traceId } ?? ""),
    ])
  }

  func run() async {
    if let delay = JobDelay(due: JobMessage.due(received.delivery), now: now) { return await goOn(delay) }
    if attempt == 1, !received.delivery.isRedelivered {
      dependencies.metrics.queueWait.observe(seconds(since: job.registeredAt))
    }
    if !dependencies.suspects.enterAtOnce() { await dependencies.suspects.enter() }
    await runBesideOthers()
    if isAlone { dependencies.suspects.leaveAlone() } else { dependencies.suspects.leave() }
  }

  private func runBesideOthers() async {
    // 1. The lease: no other worker runs this transaction now. Later the fencing number proves it.
    guard await takeLease() else { return }
    if lease.crashes >= Suspects.aloneFrom {
      guard await becomeAlone() else { return }
    }
    dependencies.leases.hold(self)
    if job.transactionId == dependencies.crashTransaction { abort() }

    // 2. Apple's verified answer, or the outcome of an answer of a moment ago.
    if let covered = coveredOutcome() { return await finalize(covered, lastingRoute()) }
    noteRules()
    let finding = await dependencies.verify(self) ?? nowhereToAsk()
    if Task.isCancelled, case .failed = finding.outcome {
      // The worker stops and has broken off the call. That is no failure of the job.
      return await handBack(finding)
    }

    // 3. The decision, and its effect.
    await follow(finding)
  }

  /// The outcome of an answer of a moment ago, unless the publisher has given the offer up since.
  private func coveredOutcome() -> Outcome? {
    guard let covered = lease.covered, let publisher,
      publisher.accessRules(for: job.customerId).allow(covered)
    else { return nil }
    dependencies.leases.letGo(self)
    dependencies.metrics.covered.count()
    return covered
  }

  /// Keeps the present rules. If somebody is replacing the publisher's file when Apple answers, the publisher has not
  /// given up its offers.
  private func noteRules() { rules = publisher?.accessRules(for: job.customerId) ?? rules }

  private func nowhereToAsk() -> PurchaseVerification.Finding {
    guard publisher != nil else {
      log.error("the publisher is not configured")
      return PurchaseVerification.Finding(outcome: .failed(.publisherUnknown))
    }
    return PurchaseVerification.Finding(outcome: .unknownTransaction)
  }

  /// The places where Apple may know the publisher's transactions; empty for an unknown publisher.
  var places: [AppPlace] { publisher.map(dependencies.places) ?? [] }

  private var now: Int64 { dependencies.clock.now() }
  private var publisher: Publisher? { dependencies.publishers()[job.publisherId] }

  /// Takes the lease. Returns false when there is nothing to run, and the job is off the queue.
  func takeLease() async -> Bool {
    let start = ContinuousClock.now
    switch await askForLease() {
    case .success(.taken(let lease)):
      begin(lease, askedAt: start)
      return true
    case .success(let answer): await leave(answer)
    case .failure(let refusal): await delay(attempt, refusal.wait, refusal.cause)
    }
    return false
  }

  private func askForLease() async -> Result<LeaseAnswer, StoreRefusal> {
    do {
      let answer = try await dependencies.store.takeLease(
        job, for: dependencies.settings.leaseDuration, sweepAfter: dependencies.settings.sweepAfter,
        wasRedelivered: JobMessage.wasRedelivered(received.delivery), places: places.map(\.call))
      return .success(answer)
    } catch {
      log.warning("lease failed", ["cause": .failure(error)])
      return .failure(StoreRefusal(error))
    }
  }

  private func begin(_ lease: Lease, askedAt start: ContinuousClock.Instant) {
    // A late answer carries an old time.
    if ContinuousClock.now - start < .seconds(1), let correction = lease.takenAt.flatMap(dependencies.clock.learn) {
      log.warning("the clock was set by Redis'", ["correctionSeconds": .double(Double(correction) / 1000)])
    }
    self.lease = lease
  }

  /// Handles an answer that is no lease: the job leaves the queue.
  private func leave(_ answer: LeaseAnswer) async {
    switch answer {
    case .taken: break
    case .finalized(let synchronization): await tell(synchronization)
    case .foreign: await dependencies.bury(received, "its synchronizationId has become another registration's")
    case .wait(let wait):
      dependencies.metrics.budgetWaits.count()
      await delay(attempt, wait, .budget)
    case .busy(let rest): await delay(attempt, rest, .busy)
    }
  }

  // MARK: Effects

  /// Does the next step after a finding.
  private func follow(_ finding: PurchaseVerification.Finding) async {
    // From here on the next write ends the lease. A renewal must not bring it back.
    dependencies.leases.letGo(self)
    switch nextStep(after: finding.outcome) {
    case .conclude(let conclusion): await finalize(conclusion, lastingRoute(after: finding), reuse: reuse(of: finding))
    case .retry(let next, let wait, let cause): await retry(next, wait, cause, route(after: finding))
    }
  }

  private func nextStep(after outcome: AttemptOutcome) -> NextStep {
    NextStep.after(outcome, attempt: attempt, policy: dependencies.policy, rules: rules, now: now)
  }

  /// The place where Apple knows the transaction, for later jobs.
  func lastingRoute(after finding: PurchaseVerification.Finding? = nil) -> String? {
    (finding?.route ?? lease.route.flatMap(Route.init))?.lasting.text
  }

  /// The route for the next run. It carries Apple's answers only if this finding does.
  @inline(never)
  private func route(after finding: PurchaseVerification.Finding) -> String? {
    finding.route?.text ?? lastingRoute()
  }

  /// How long the next registrations of the transaction need no call to Apple.
  private func reuse(of finding: PurchaseVerification.Finding) -> Duration {
    guard finding.isFresh, case .verified(let purchase) = finding.outcome else { return .zero }
    return Entitlement.reuse(of: purchase, atMost: dependencies.settings.answerReuse, now: now)
  }

  private func retry(_ next: Int, _ wait: Duration, _ cause: RetryCause, _ route: String?) async {
    // A run that the worker only postponed has proven nothing.
    // The sweep must not overtake the job: it would begin again with the first attempt, beside this one.
    let latest = wait + JobDelay.tolerance(of: wait)
    await release(isRetrying: next > attempt, after: latest, isRun: next > attempt, route: route)
    if next > attempt {
      log.info("retrying", ["cause": .string(cause.rawValue), "delaySeconds": .double(wait.inSeconds)])
    }
    await delay(next, wait, cause)
  }

  /// Finalizes the synchronization. The fencing number decides whether this run's finding takes effect.
  func finalize(_ outcome: Outcome, _ route: String?, reuse: Duration = .zero) async {
    switch await write(outcome, route, reuse) {
    case .success(.finalized(let synchronization)):
      note(synchronization.conclusion)
      await tell(synchronization)
    case .success(.stale):
      noteStale("a later lease was given out")
      // The later lease may belong to another synchronization. This one must still come to its end.
      await delay(attempt, .seconds(1), .busy, hasRun: true)
    case .failure(let refusal): await delay(attempt, refusal.wait, refusal.cause, hasRun: true)
    }
  }

  /// Writes an outcome. After a failure the worker does not know whether it took effect.
  private func write(
    _ outcome: Outcome, _ route: String?, _ reuse: Duration
  ) async -> Result<FinalizeAnswer, StoreRefusal> {
    do {
      let answer = try await dependencies.store.finalize(
        job, lease, outcome, retention: dependencies.settings.statusRetention,
        sweepAfter: dependencies.settings.sweepAfter, route: route, reuse: reuse)
      return .success(answer)
    } catch {
      log.warning("finalize failed", ["cause": .failure(error)])
      return .failure(StoreRefusal(error))
    }
  }

  private func note(_ conclusion: Conclusion?) {
    if let conclusion, conclusion.version != lease.fence { return noteStale("another run has finalized") }
    let result = conclusion?.outcome
    log.info(
      "finalized",
      [
        "result": .string(result?.result.rawValue ?? ""), "accessGranted": .bool(result?.accessGranted ?? false),
        "version": .int(lease.fence),
      ])
    dependencies.metrics.results.count(result?.result.rawValue ?? "")
  }

  private func noteStale(_ cause: String) {
    log.warning("the result is stale", ["cause": .string(cause), "fence": .int(lease.fence)])
    dependencies.metrics.stale.count()
  }

  /// Publishes the event of a finalized synchronization, the same each time, and takes the job off the queue.
  private func tell(_ synchronization: Synchronization) async {
    let id = EventMessage.id(publisher: synchronization.publisherId, synchronization: synchronization.id)
    guard let event = PurchaseEvent(of: synchronization, id: id) else {
      log.error("a finalized synchronization has no conclusion")
      return await dependencies.bury(received, "finalized without a conclusion")
    }
    await tell(event)
  }

  private func tell(_ event: PurchaseEvent) async {
    do {
      try await dependencies.broker.publishSurely(EventMessage.message(event, exchange: dependencies.topology.events))
      dependencies.recentEvents.add(event)
    } catch {
      log.error("the event could not be published", ["cause": .failure(error)])
      return await delay(attempt, .seconds(5), .brokerUnavailable)
    }
    dependencies.metrics.events.count()
    dependencies.metrics.age.observe(seconds(since: job.registeredAt))
    do {
      try await dependencies.store.told(job)
    } catch {
      // The sweep will publish the same event again.
      log.debug("told failed", ["cause": .failure(error)])
    }
    // The acknowledgement comes last: for each one the broker sends the next job. So no more jobs are in flight than
    // the configuration allows.
    received.acknowledge()
  }

  // MARK: Ways off the queue

  /// Delays the job, and acknowledges this delivery.
  func delay(_ next: Int, _ wait: Duration, _ cause: RetryCause, hasRun: Bool = false) async {
    dependencies.metrics.retries.count(cause.rawValue)
    // Only a job that has not run yet keeps the mark that it was redelivered. The end of any other job is known.
    await publish(next, JobDelay(wait, now: now), isUntried: !hasRun && Self.withoutRun.contains(cause))
  }

  /// The causes that can put a job off before it runs.
  private static let withoutRun: Set<RetryCause> = [.busy, .budget, .storeUnavailable, .newerFormat]

  /// Puts a job off again that has not waited long enough behind one delay queue.
  private func goOn(_ delay: JobDelay) async { await publish(attempt, delay, isUntried: true) }

  /// Publishes the job to a delay queue. Once the broker confirms it, acknowledges this delivery.
  private func publish(_ next: Int, _ delay: JobDelay, isUntried: Bool) async {
    let queue = dependencies.topology.jobDelay(delay.tier)
    do {
      let message = JobMessage.message(
        job, attempt: next, queue: queue, due: delay.due,
        wasRedelivered: isUntried && JobMessage.wasRedelivered(received.delivery))
      try await dependencies.broker.publishSurely(message)
      received.acknowledge()
    } catch {
      log.error("the job could not be delayed", ["queue": .string(queue), "cause": .failure(error)])
      await received.requeueLater()
    }
  }

  func release(isRetrying: Bool, after wait: Duration, isRun: Bool = true, route: String? = nil) async {
    do {
      try await dependencies.store.release(
        job, lease, isRetrying: isRetrying, sweepAfter: dependencies.settings.sweepAfter + wait, route: route,
        isRun: isRun)
    } catch {
      // The lease ends by itself. The job waits longer than that at most once.
      log.warning("release failed", ["cause": .failure(error)])
    }
  }

  private func handBack(_ finding: PurchaseVerification.Finding) async {
    dependencies.leases.letGo(self)
    await release(isRetrying: false, after: .zero, isRun: false, route: finding.route?.text)
    log.info("handed back")
    received.requeue()
  }

  private func seconds(since milliseconds: Int64) -> Double {
    Double(max(0, now - milliseconds)) / 1000
  }
}
