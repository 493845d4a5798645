import AMQP
import Configuration
import EventLoop
import Fleet
import Glibc
import Observability
import Purchases

/// Runs one job, from delivery to acknowledgement; reads top to bottom as the way of one purchase.
@LoopActor
struct JobRun {
  let worker: Worker
  let received: AMQPConsumer.Received

  private var context: RoleContext { worker.context }
  private var settings: WorkerSettings { worker.context.settings.worker }

  func run() async {
    let job: Job
    let attempt: Int
    do {
      (job, attempt) = try JobMessage.read(received.delivery)
    } catch {
      return await bury(error.reason)
    }
    let log = context.log.with([
      "synchronizationId": .string(job.synchronizationId), "transactionId": .string(job.transactionId),
      "publisherId": .int(job.publisherId), "attempt": .int(Int64(attempt)),
      "traceId": .string(job.traceparent.flatMap { TraceParent($0)?.traceId } ?? ""),
    ])
    if attempt == 1, !received.delivery.isRedelivered {
      worker.metrics.queueWait.observe(seconds(since: job.registeredAt))
    }

    // 1. The lease: nobody else runs this transaction now, and the fencing number says so later.
    await worker.suspects.enter()
    var isAlone = false
    defer { if isAlone { worker.suspects.leaveAlone() } else { worker.suspects.leave() } }
    guard var lease = await takeLease(job, attempt, log) else { return }
    if lease.crashes >= Suspects.aloneFrom {
      guard lease.crashes < Suspects.givenUpFrom else { return await giveUp(job, lease, attempt, log) }
      // Set aside without a lease, so that a crash meanwhile does not count for it.
      await release(job, lease, isRetrying: false, after: .zero, isRun: false, log)
      worker.suspects.leave()
      isAlone = await worker.suspects.enterAlone()
      guard isAlone else {
        // The end of this run leaves as an ordinary one.
        await worker.suspects.enter()
        return await delay(job, attempt, .seconds(5), .suspect, log)
      }
      if Task.isCancelled { return received.requeue() }
      guard let again = await takeLease(job, attempt, log) else { return }
      lease = again
      log.warning("run alone: earlier runs did not end", ["crashes": .int(Int64(lease.crashes))])
    }
    worker.holds(job, lease)
    if job.transactionId == context.faults.crashTransaction { abort() }

    // 2. Apple's answer, verified.
    guard let publisher = context.publishers[job.publisherId] else {
      log.error("the publisher is not configured")
      return await follow(.failed(.publisherUnknown), job, lease, attempt, nil, OfferCatalog([]), log)
    }
    // An answer of a moment ago, unless the publisher has given the offer up since.
    if let covered = lease.covered, publisher.offers.contains(covered.offerId ?? "") {
      worker.letsGo(job, lease)
      worker.metrics.covered.count()
      return await finalize(job, lease, covered, attempt, lease.route, log)
    }
    let finding = await worker.verification(log).verify(
      job.transactionId, of: publisher, route: lease.route, grant: lease.call)
    if Task.isCancelled, case .failed = finding.outcome {
      // The worker stops and the call was broken off: that is no failure of the job.
      return await handBack(job, lease, log)
    }

    // 3. The decision, and its effect.
    await follow(finding.outcome, job, lease, attempt, finding.route ?? lease.route, publisher.offers, log)
  }

  /// Takes the lease; `nil` when there is nothing to run, and the job is off the queue.
  private func takeLease(_ job: Job, _ attempt: Int, _ log: Log) async -> Lease? {
    do {
      let start = ContinuousClock.now
      let places = context.publishers[job.publisherId].map {
        PurchaseVerification.places($0, context.settings.appStore)
      }
      let answer = try await worker.store.takeLease(
        job, for: settings.leaseDuration, sweepAfter: settings.sweepAfter,
        wasRedelivered: JobMessage.wasRedelivered(received.delivery), places: places ?? [],
        endpoints: PurchaseVerification.endpoints)
      switch answer {
      case .taken(let lease):
        // A late answer tells an old time.
        if ContinuousClock.now - start < .seconds(1), let correction = lease.takenAt.flatMap(context.clock.learn) {
          log.warning("the clock was set by Redis'", ["correctionSeconds": .double(Double(correction) / 1000)])
        }
        return lease
      case .finalized(let synchronization): await tell(synchronization, job, attempt, log)
      case .foreign: await bury("its synchronizationId has become another registration's")
      case .wait(let wait):
        worker.metrics.budgetWaits.count()
        await delay(job, attempt, wait, .budget, log)
      case .busy(let rest): await delay(job, attempt, rest, .busy, log)
      }
    } catch {
      log.warning("lease failed", ["cause": .failure(error)])
      await delay(job, attempt, .seconds(1), .storeUnavailable, log)
    }
    return nil
  }

  /// Gives up a job whose runs never end: a copy goes to the dead-letter queue, and what was accepted is finalized.
  private func giveUp(_ job: Job, _ lease: Lease, _ attempt: Int, _ log: Log) async {
    // The copy may have to wait for the broker; the lease must not end meanwhile.
    worker.holds(job, lease)
    let reason = "\(lease.crashes) runs in a row did not end: it seems to kill its worker"
    log.error("given up", ["reason": .string(reason)])
    do {
      let message = JobMessage.dead(received.delivery, reason: reason, queue: worker.topology.deadJobs)
      try await worker.publisher.publishSurely(message)
      worker.metrics.dead.count()
    } catch {
      // Without the copy there is still the result, the event and the log.
      log.error("a delivery could not be buried", ["cause": .failure(error)])
    }
    worker.letsGo(job, lease)
    await finalize(job, lease, Outcome(.internalError), attempt, lease.route, log)
  }

  private func release(
    _ job: Job, _ lease: Lease, isRetrying: Bool, after wait: Duration, isRun: Bool = true, route: String? = nil,
    _ log: Log
  ) async {
    do {
      try await worker.store.release(
        job, lease, isRetrying: isRetrying, sweepAfter: settings.sweepAfter + wait, route: route, isRun: isRun)
    } catch {
      // The lease ends by itself; the job waits longer than that at most once.
      log.warning("release failed", ["cause": .failure(error)])
    }
  }

  /// Does what the outcome of an attempt asks for.
  private func follow(
    _ outcome: AttemptOutcome, _ job: Job, _ lease: Lease, _ attempt: Int, _ route: String?, _ offers: OfferCatalog,
    _ log: Log
  ) async {
    // From here on the lease ends by what is written next; a renewal must not bring it back.
    worker.letsGo(job, lease)
    let step = NextStep.after(
      outcome, attempt: attempt, policy: worker.policy, offers: offers, now: context.now())
    switch step {
    case .conclude(let conclusion):
      var reuse = Duration.zero
      if case .verified(let purchase) = outcome {
        reuse = Entitlement.reuse(of: purchase, atMost: settings.answerReuse, now: context.now())
      }
      await finalize(job, lease, conclusion, attempt, route, reuse: reuse, log)
    case .retry(let next, let tier, let cause):
      // A run that was only postponed has proven nothing.
      await release(job, lease, isRetrying: next > attempt, after: tier, isRun: next > attempt, route: route, log)
      if next > attempt {
        log.info("retrying", ["cause": .string(cause.rawValue), "delaySeconds": .double(tier.inSeconds)])
      }
      await delay(job, next, tier, cause, log)
    }
  }

  /// Finalizes: the fencing number decides whether what we found takes effect.
  private func finalize(
    _ job: Job, _ lease: Lease, _ outcome: Outcome, _ attempt: Int, _ route: String?, reuse: Duration = .zero,
    _ log: Log
  ) async {
    do {
      switch try await worker.store.finalize(
        job, lease, outcome, retention: settings.statusRetention, sweepAfter: settings.sweepAfter, route: route,
        reuse: reuse)
      {
      case .finalized(let synchronization):
        let conclusion = synchronization.conclusion
        if let conclusion, conclusion.version != lease.fence {
          noteStale("another run has finalized", lease, log)
        } else {
          let result = conclusion?.outcome
          log.info(
            "finalized",
            [
              "result": .string(result?.result.rawValue ?? ""), "accessGranted": .bool(result?.accessGranted ?? false),
              "version": .int(lease.fence),
            ])
          worker.metrics.results.count(result?.result.rawValue ?? "")
        }
        await tell(synchronization, job, attempt, log)
      case .stale:
        noteStale("a later lease was given out", lease, log)
        // The later lease may be that of another synchronization: this one must still come to its end.
        await delay(job, attempt, .seconds(1), .busy, hasRun: true, log)
      }
    } catch {
      log.warning("finalize failed", ["cause": .failure(error)])
      await delay(job, attempt, .seconds(1), .storeUnavailable, hasRun: true, log)
    }
  }

  private func noteStale(_ cause: String, _ lease: Lease, _ log: Log) {
    log.warning("the result is stale", ["cause": .string(cause), "fence": .int(lease.fence)])
    worker.metrics.stale.count()
  }

  /// Publishes the event of a finalized synchronization, the same each time, and takes the job off the queue.
  private func tell(_ synchronization: Synchronization, _ job: Job, _ attempt: Int, _ log: Log) async {
    let id = EventMessage.id(publisher: synchronization.publisherId, synchronization: synchronization.id)
    guard let event = PurchaseEvent(of: synchronization, id: id) else {
      log.error("a finalized synchronization has no conclusion")
      return await bury("finalized without a conclusion")
    }
    do {
      let message = EventMessage.message(event, exchange: worker.topology.events)
      try await worker.publisher.publishSurely(message)
    } catch {
      log.error("the event could not be published", ["cause": .failure(error)])
      return await delay(job, attempt, .seconds(5), .brokerUnavailable, log)
    }
    worker.metrics.events.count()
    worker.metrics.age.observe(seconds(since: job.registeredAt))
    received.acknowledge()
    do {
      try await worker.store.told(job)
    } catch {
      // The sweep will tell the same event again.
      log.debug("told failed", ["cause": .failure(error)])
    }
  }

  // MARK: Ways off the queue

  /// Publishes the job to a delay tier and, once that is confirmed, acknowledges this delivery.
  private func delay(
    _ job: Job, _ attempt: Int, _ wait: Duration, _ cause: RetryCause, hasRun: Bool = false, _ log: Log
  ) async {
    worker.metrics.retries.count(cause.rawValue)
    let queue = worker.topology.jobDelay(worker.policy.tier(for: wait))
    do {
      // Only a job that did not run yet carries on that it was redelivered; any other has just shown how it ends.
      let isUntried = !hasRun && (cause == .busy || cause == .budget || cause == .storeUnavailable)
      let message = JobMessage.message(
        job, attempt: attempt, queue: queue,
        wasRedelivered: isUntried && JobMessage.wasRedelivered(received.delivery))
      try await worker.publisher.publishSurely(message)
      received.acknowledge()
    } catch {
      log.error("the job could not be delayed", ["queue": .string(queue), "cause": .failure(error)])
      await received.requeueLater()
    }
  }

  /// Puts the delivery into the dead-letter queue, with the reason in a header.
  private func bury(_ reason: String) async {
    context.log.error(
      "a delivery is no job",
      ["reason": .string(reason), "messageId": .string(received.delivery.properties.messageID ?? "")])
    do {
      let message = JobMessage.dead(received.delivery, reason: reason, queue: worker.topology.deadJobs)
      try await worker.publisher.publishSurely(message)
      worker.metrics.dead.count()
      received.acknowledge()
    } catch {
      context.log.error("a delivery could not be buried", ["cause": .failure(error)])
      await received.requeueLater()
    }
  }

  private func handBack(_ job: Job, _ lease: Lease, _ log: Log) async {
    worker.letsGo(job, lease)
    await release(job, lease, isRetrying: false, after: .zero, isRun: false, route: lease.route, log)
    log.info("handed back")
    received.requeue()
  }

  private func seconds(since milliseconds: Int64) -> Double {
    Double(max(0, context.now() - milliseconds)) / 1000
  }
}
