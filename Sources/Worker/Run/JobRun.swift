import AMQP
import Configuration
import Coordination
import Domain
import EventLoop
import Formats
import Glibc
import Ledger
import Messaging
import Observability
import Service

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
  /// Which run of the job this is, for the messages that follow.
  let number: Int64
  let log: Log
  /// The copy of the job at the broker, while it is in the line.
  let copy: JobCopy
  /// What the signed transaction of an import's row proves by itself.
  private(set) lazy var signedBasis = makeSignedBasis()
  /// Whether the run has its lease already: the line gave it together with the job.
  private var comesWithLease = false
  /// The place of a suspect, which keeps other jobs from beginning.
  var place: Suspects.Place?
  /// The place among the worker's jobs, with which the run may call Apple.
  private var jobPlace: JobPlaces.Place?
  /// The publisher as it was when the run began. If somebody is replacing its file when Apple answers, the publisher
  /// has not given up its offers.
  private var publisherThen: Publisher?
  /// The span of the run, if its trace is recorded.
  private(set) var span: JobSpan?
  /// When the lease ends, by this process' own clock.
  var leaseEnd = ContinuousClock.now

  convenience init(_ received: any JobDelivery, with dependencies: Dependencies) throws(JobMessage.Unreadable) {
    let (job, attempt) = try JobMessage.read(received.delivery, doors: dependencies.doors)
    let copy = JobMessage.copy(received.delivery).map(JobCopy.init(delivered:)) ?? JobCopy()
    self.init(job, attempt, copy, JobMessage.run(received.delivery), received, dependencies)
  }

  /// Prepares the run of a job out of the line.
  ///
  /// - Parameter start: when the line was asked.
  convenience init(
    _ awaited: AwaitedJob, askedAt start: ContinuousClock.Instant, _ received: any JobDelivery,
    with dependencies: Dependencies
  ) {
    let copy = awaited.copy.isEmpty ? JobCopy() : JobCopy(delivered: awaited.copy)
    self.init(awaited.job, awaited.attempt, copy, awaited.run, received, dependencies)
    begin(awaited.lease, askedAt: start)
    comesWithLease = true
    jobPlace = dependencies.places.hold(job.publisherId, job.lane)
  }

  private init(
    _ job: Job, _ attempt: Int, _ copy: JobCopy, _ number: Int64, _ received: any JobDelivery,
    _ dependencies: Dependencies
  ) {
    (self.job, self.attempt, self.copy, self.number, self.received) = (job, attempt, copy, number, received)
    self.dependencies = dependencies
    log = dependencies.log.with([
      "synchronizationId": .string(job.synchronizationId.text), "transactionId": .string(job.transactionId.text),
      "publisherId": .int(job.publisherId.number), "attempt": .int(Int64(attempt)),
      "traceId": .string(job.traceparent.flatMap { TraceParent($0)?.traceId } ?? ""),
    ])
  }

  func run() async {
    if let delay = JobDelayQueue(due: JobMessage.due(received.delivery), now: now) { return await goOn(delay) }
    if attempt == 1, !received.delivery.isRedelivered, !copy.isDelivered {
      dependencies.metrics.queueWait.observe(age.inSeconds)
    }
    if !dependencies.suspects.enterAtOnce() { await dependencies.suspects.enter() }
    span = JobSpan(of: job, attempt: attempt, dependencies.tracer)
    await runBesideOthers()
    span?.end()
    if let place { dependencies.suspects.leaveAlone(place) } else { dependencies.suspects.leave() }
    if let jobPlace { dependencies.places.end(jobPlace) }
  }

  private func runBesideOthers() async {
    // 1. The lease: no other worker runs this transaction now. The commit needs no proof of it.
    if !comesWithLease { guard await takeLease() else { return } }
    comesWithLease = false
    publisherThen = publisher
    if lease.crashes >= Suspects.aloneFrom, place == nil {
      guard await becomeAlone() else { return }
    }
    dependencies.heldLeases.hold(self)
    if job.transactionId == dependencies.faults.crashTransaction { abort() }

    // 2. Apple's verified answer. A transfer needs none, nor does a purchase about which Apple spoke a moment ago.
    if let known = knownPurchase() { return await finalize(known, lastingRoute()) }
    if await wasFinalized() { return }
    // Somebody may have mended the publisher's file meanwhile. The decision needs the publisher, too.
    if publisherThen == nil { publisherThen = publisher }
    let made = await dependencies.verify(self) ?? nowhereToAsk()
    if Task.isCancelled, case .failed = made.result {
      // The worker stops and has broken off the call. That is no failure of the job.
      return await handBack(made.route?.text)
    }

    // 3. The decision, and its effect.
    await follow(made)
  }

  /// On what the ledger can decide without a call; `nil` when Apple must be asked.
  private func knownPurchase() -> FinalizationRequest.Basis? {
    guard publisherThen != nil else { return nil }
    if job.kind == .transfer { return .known(nil) }
    if let signedBasis { return signedBasis }
    guard let covered = lease.covered else { return nil }
    dependencies.metrics.covered.count()
    return .known(
      PurchaseKey(
        publisherId: job.publisherId, environment: covered.environment,
        originalTransactionId: covered.originalTransactionId))
  }

  /// Whether a run before this one has finalized the synchronization and died before it acknowledged the job. Then the
  /// job is off the queue.
  private func wasFinalized() async -> Bool {
    let mayHaveEnded = JobMessage.wasRedelivered(received.delivery) || copy.isDelivered && !received.hasCopy
    guard mayHaveEnded else { return false }
    do {
      guard let done = try await dependencies.ledger.find(job) else { return false }
      await end(done, lastingRoute(), nil)
      return true
    } catch {
      return false
    }
  }

  private func nowhereToAsk() -> PurchaseVerification.Attempt {
    switch dependencies.publishers().lookUp(job.publisherId) {
    case .found: return PurchaseVerification.Attempt(result: .unknownTransaction)
    case .broken:
      let since = dependencies.publishers().brokenSince(job.publisherId) ?? now
      return PurchaseVerification.Attempt(result: .brokenPublisher(wait: AppStanding.wait(since: since, at: now)))
    case .unknown:
      log.error("the publisher is not configured")
      return PurchaseVerification.Attempt(result: .failed(.publisherUnknown))
    }
  }

  /// The places where Apple may know the publisher's transactions; empty for an unknown publisher.
  var places: [AppPlace] { publisher.map(dependencies.appPlaces) ?? [] }

  var now: Int64 { dependencies.clock.now() }
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

  private func askForLease() async -> Result<LeaseAnswer, RedisFailure> {
    if jobPlace == nil { jobPlace = await dependencies.places.take(job.publisherId, job.lane) }
    do {
      let answer = try await dependencies.leases.take(
        job, attempt: attempt, copy: copy, for: dependencies.settings.leaseDuration,
        sweepAfter: dependencies.settings.sweepAfter, isDelivered: lease.fence == 0,
        wasRedelivered: JobMessage.wasRedelivered(received.delivery),
        places: signedBasis == nil ? AppPlace.askable(places, at: now).map(\.call) : [], mayCall: jobPlace != nil,
        run: number)
      return .success(answer)
    } catch {
      log.warning("lease failed", ["cause": .failure(error)])
      return .failure(RedisFailure(error))
    }
  }

  private func begin(_ lease: Lease, askedAt start: ContinuousClock.Instant) {
    // A late answer carries an old time.
    if ContinuousClock.now - start < .seconds(1), let correction = lease.takenAt.flatMap(dependencies.clock.learn) {
      log.warning("the clock was set to Redis' time", ["correctionSeconds": .double(Double(correction) / 1000)])
    }
    self.lease = lease
    leaseEnd = start + dependencies.settings.leaseDuration
  }

  /// Handles an answer that is no lease: the job leaves the queue.
  private func leave(_ answer: LeaseAnswer) async {
    switch answer {
    case .taken: break
    case .finalized: received.acknowledge()
    case .foreign:
      let reason = "its synchronizationId now belongs to another registration"
      await dependencies.bury(received, .superseded, reason)
    case .superseded:
      dependencies.metrics.superseded.count()
      received.acknowledge()
    case .inLine(let expected, let copy): await waitInLine(expected, copy)
    // Most runs end long before their lease does, and somebody waits at a door.
    case .busy(let rest): await delay(attempt, job.door == nil ? rest : min(rest, .seconds(1)), .busy)
    }
  }

  // MARK: Effects

  /// Does the next step after an attempt.
  private func follow(_ made: PurchaseVerification.Attempt) async {
    switch NextStep.after(made.result, attempt: attempt, policy: dependencies.policy, age: age) {
    case .decide: await finalize(evidence(of: made), lastingRoute(after: made), fresh: fresh(made))
    case .finalize(let code): await finalize(.noEvidence(code), lastingRoute(after: made))
    case .retry(let next, let wait, let cause):
      // The next write ends the lease. A renewal must not bring it back.
      dependencies.heldLeases.letGo(self)
      await retry(next, wait, cause, route(after: made))
    }
  }

  @inline(never)
  private func evidence(of made: PurchaseVerification.Attempt) -> FinalizationRequest.Basis {
    guard let key = made.purchase?.key else { return .noEvidence(.internalError) }
    return .evidence(key, made.evidence)
  }

  /// The place where Apple knows the transaction, for later jobs.
  func lastingRoute(after made: PurchaseVerification.Attempt? = nil) -> String? {
    (made?.route ?? lease.route.flatMap(AppleRoute.init))?.lasting.text
  }

  /// The route for the next run. It carries Apple's answers only if this attempt does.
  @inline(never)
  private func route(after made: PurchaseVerification.Attempt) -> String? {
    made.route?.text ?? lastingRoute()
  }

  /// The purchase for the next registrations of the transaction, which need no call for a while.
  @inline(never)
  private func fresh(_ made: PurchaseVerification.Attempt) -> FinalizedJob.Fresh? {
    guard made.isFresh, let purchase = made.purchase else { return nil }
    return FinalizedJob.Fresh(
      CoveredPurchase(
        originalTransactionId: purchase.key.originalTransactionId, environment: purchase.key.environment),
      for: Access.reuse(of: purchase, atMost: dependencies.settings.answerReuse, now: now))
  }

  private func retry(_ next: Int, _ asked: Duration, _ cause: RetryCause, _ route: String?) async {
    if cause == .budget {
      // The next call is in the line, or has just come free. The answers so far go along.
      await release(isRetrying: false, after: asked, isRun: false, route: route)
      return await goOnWithNextCall(asked)
    }
    let wait = cause.waitsForPerson ? max(asked, await turn()) : asked
    // A run that the worker only postponed has proven nothing.
    // The sweep must not overtake the job: it would begin again with the first attempt, beside this one.
    let latest = wait + JobDelayQueue.tolerance(of: wait)
    let hasRun = next > attempt || cause.waitsForPerson
    await release(isRetrying: hasRun, after: latest, isRun: hasRun, route: route, cause: cause)
    await keepInLedger(latest)
    if hasRun {
      span?.note(retry: cause.rawValue)
      log.info("retrying", ["cause": .string(cause.rawValue), "delaySeconds": .double(wait.inSeconds)])
    }
    await delay(next, wait, cause)
  }

  /// Takes the lease anew, with the next call. Without one the job is in the line.
  private func goOnWithNextCall(_ asked: Duration) async {
    guard await takeLease() else { return }
    guard lease.call != nil || lease.covered != nil else {
      // No place may be asked now, and so there is no line.
      await release(isRetrying: false, after: asked, isRun: false)
      return await delay(attempt, asked, .budget)
    }
    comesWithLease = true
    await runBesideOthers()
  }

  /// The wait for the job's turn among all jobs of the publisher that wait for a person.
  private func turn() async -> Duration {
    do {
      return try await dependencies.takeTurn(job.publisherId)
    } catch {
      log.warning("the job's turn could not be taken", ["cause": .failure(error)])
      return .milliseconds(AppStanding.longestWait)
    }
  }

  /// Finalizes the synchronization: the ledger decides on the merged purchase.
  ///
  /// The lease keeps two runs from doing the same work. If it has ended by this process' own clock, another run may be
  /// under way, and this one drops what it has found. Correctness does not need that: a synchronization finalizes once.
  func finalize(
    _ basis: FinalizationRequest.Basis, _ route: String?, fresh: FinalizedJob.Fresh? = nil
  ) async {
    guard ContinuousClock.now < leaseEnd else {
      dependencies.heldLeases.letGo(self)
      log.warning("the result is stale", ["cause": .string("the lease has ended"), "fence": .int(lease.fence)])
      dependencies.metrics.stale.count()
      return await delay(attempt, .seconds(1), .busy, hasRun: true)
    }
    switch await commit(basis) {
    case .success(let done):
      note(done.synchronization)
      await end(done, route, fresh)
    case .failure(let error):
      dependencies.heldLeases.letGo(self)
      if error is CancellationError { return await handBack(route) }
      // Without the release the next run would wait for the end of this lease.
      await release(isRetrying: false, after: .seconds(5), route: route)
      await delay(attempt, .seconds(5), .ledgerUnavailable, hasRun: true)
    }
  }

  /// Commits. If the ledger cannot take what the run has found, ends the synchronization without it.
  private func commit(_ basis: FinalizationRequest.Basis) async -> Result<FinalizedSynchronization, any Error> {
    let start = ContinuousClock.now
    do {
      let request = FinalizationRequest(job, basis, publisher: publisherThen)
      let done = try await dependencies.ledger.finalize(request)
      span?.committed(since: start)
      return .success(done)
    } catch let error as CancellationError {
      return .failure(error)
    } catch {
      span?.committed(since: start, failure: "the ledger refuses the result")
      log.error("the ledger refuses the result", ["cause": .failure(error)])
    }
    do {
      let without = FinalizationRequest(job, .noEvidence(.internalError), publisher: publisherThen)
      return .success(try await dependencies.ledger.finalize(without))
    } catch {
      log.error("the ledger refuses the synchronization", ["cause": .failure(error)])
      return .failure(error)
    }
  }

  private func note(_ synchronization: Synchronization) {
    let result = synchronization.result
    log.info(
      "finalized",
      [
        "result": .string(result?.code.rawValue ?? ""), "accessGranted": .bool(result?.accessGranted ?? false),
        "version": .int(synchronization.version), "ageSeconds": .double(age.inSeconds),
      ])
    dependencies.metrics.results.count(result?.code.rawValue ?? "")
    if job.imported != nil { dependencies.metrics.imported.count(result?.code.rawValue ?? "") }
    span?.note(result: result?.code.rawValue ?? "")
  }

  /// Takes a finalized synchronization out of Redis and off the queue, and publishes its events.
  private func end(
    _ done: consuming FinalizedSynchronization, _ route: String?, _ fresh: FinalizedJob.Fresh?
  ) async {
    dependencies.heldLeases.letGo(self)
    let result = done.synchronization.result
    let faults = dependencies.faults
    if job.transactionId == faults.crashAfterCommit { abort() }
    if job.transactionId == faults.crashAfterPublish { return dependencies.outlet.publish(done.takeTold()) { abort() } }
    dependencies.outlet.publish(done.takeTold()) { [dependencies, job] in
      let age = max(0, dependencies.clock.now().subtracting(job.registeredAt))
      dependencies.metrics.age.observe(Double(age) / 1000)
    }
    dependencies.replies.reply(to: job, result)
    dependencies.metrics.deliveries.observe(Double(lease.deliveries + (received.hasCopy ? 1 : 0)))
    do {
      let isKnown = result?.originalTransactionId != nil
      try await dependencies.leases.finalize(
        FinalizedJob(job: job, fence: lease.fence, route: route, isKnown: isKnown, fresh: fresh))
    } catch {
      // The sweep will find the open entry, and its job the finalized synchronization.
      log.debug("finalize failed", ["cause": .failure(error)])
    }
    // The acknowledgement comes last: for each one the broker sends the next job. So no more jobs are in flight than
    // the configuration allows.
    received.acknowledge()
  }

  /// The time since the registration.
  private var age: Duration { .milliseconds(max(0, now.subtracting(job.registeredAt))) }
}
