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
import Postgres
import Service

/// Makes one attempt to deliver an event to one endpoint, or puts it off, and records the result.
///
/// The order makes a crash harmless at every step. First the run makes the attempt, then it writes the record to the
/// ledger, then it publishes the message that follows. At last the caller acknowledges. If another run gets the message
/// again, it finds the record and does the rest.
@LoopActor
final class EndpointRun {
  let dependencies: DeliveryRun.Dependencies
  let delivery: Delivery
  let endpoint: WebhookEndpoint
  /// Whether the endpoint was disabled at the last reading.
  let wasDisabled: Bool
  /// The endpoints that get the event, if the message is for all of them; `nil` if it is for one.
  let look: EndpointLook?
  let log: Log
  private let start: StartingLine.Start

  var context: RoleContext { dependencies.context }

  init(
    _ dependencies: DeliveryRun.Dependencies, _ delivery: Delivery, _ entry: EndpointDirectory.Entry,
    _ start: StartingLine.Start, among look: EndpointLook? = nil
  ) {
    self.look = look
    self.start = start
    let endpoint = entry.endpoint
    self.dependencies = dependencies
    self.delivery = delivery
    self.endpoint = endpoint
    wasDisabled = entry.wasDisabled
    log = dependencies.context.log.with([
      "eventId": .string(delivery.eventId.text), "publisherId": .int(delivery.publisherId.number),
      "synchronizationId": .string(delivery.synchronizationId?.text ?? ""), "endpoint": .string(endpoint.id.text),
      "attempt": .int(Int64(delivery.attempt)),
      "traceId": .string(delivery.traceparent.flatMap { TraceParent($0)?.traceId } ?? ""),
    ])
  }

  /// - Returns: whether the notifier has delivered, delayed or buried the event, so that this message may go.
  func run() async -> Bool {
    let name = EndpointLanes.Name(publisher: delivery.publisherId, endpoint: endpoint.id)
    switch await dependencies.lanes.enter(name, limit: endpoint.maxConcurrency, onWait: { [start] in start.end() }) {
    case .handBack: return false
    case .park(let parked):
      let wait = parked.waited + (parked.isOfEndpoint ? parked.time : .zero)
      return await putOff(parked.time, parked.isOfEndpoint ? .busy : .share, waited: wait)
    case .go(let pass): return await begin(pass)
    }
  }

  private func begin(_ pass: EndpointLanes.Pass) async -> Bool {
    if dependencies.unrecorded.contains(UnrecordedAttempt(delivery, at: endpoint.id)) {
      dependencies.lanes.abort(pass)
      return await putOff(DeliveryDelayQueue.postponement(delivery.parks), .copy)
    }
    // The slot comes before the question. So a run that waited for the slot of a copy sees what became of that.
    let isHeld = wasDisabled || telling != .told
    var slot = isHeld ? Slot.none : await takeSlot()
    if let refusal = slot.refusal { return await putOff(pass, refusal) }
    let state: DeliveryState
    do {
      state = try await dependencies.deliveries.state(of: delivery, at: endpoint)
    } catch {
      // Without the ledger the notifier still delivers, unless the endpoint was disabled or nobody is told. It misses a
      // deletion or a disabling of the last second, and the end of an attempt that another notifier has made.
      log.warning("the ledger could not be asked for the delivery", ["cause": .failure(error)])
      guard !isHeld, (error as? PostgresError)?.advice != .ourMistake else {
        dependencies.lanes.abort(pass)
        if slot == .taken { release() }
        return await putOff(DeliveryDelayQueue.postponement(delivery.parks), .store)
      }
      state = .open
    }
    if state == .open {
      // Asked again: the file may have changed meanwhile.
      let telling = telling
      guard telling == .told else {
        dependencies.lanes.abort(pass)
        if slot == .taken { release() }
        return await hold(telling)
      }
      if isHeld {
        slot = await takeSlot()
        if let refusal = slot.refusal { return await putOff(pass, refusal) }
      }
      return await attempt(pass, hasSlot: slot == .taken)
    }
    dependencies.lanes.abort(pass)
    if slot == .taken { release() }
    switch state {
    case .open, .superseded: return true
    case .made(let result, let nextAt):
      log.info("attempt already made", ["outcome": .string(result.rawValue)])
      return await follow(result, nextAt, reason: "attempt \(delivery.attempt) was the last")
    case .disabled: return await skip("the endpoint is disabled")
    case .gone:
      // An event that nobody has looked at yet was not promised to an endpoint that is no longer there.
      guard look == nil else { return await record(.dropped) != nil }
      guard await bury(.endpointGone, "endpoint \(endpoint.id) was deleted") else { return false }
      return await record(.dropped) != nil
    }
  }

  /// The answer to the question for a slot.
  private enum Slot: Equatable {
    /// The run has not asked, or Redis is away and the endpoint has no rate.
    case none
    case taken
    case refused(AttemptSlot)
    /// Redis is away, and the endpoint has a rate.
    case unknown

    var refusal: Slot? { self == .none || self == .taken ? nil : self }
  }

  private func takeSlot() async -> Slot {
    let start = ContinuousClock.now
    do {
      let (slot, now) = try await dependencies.pacing.take(delivery, at: endpoint, lease: AttemptsUnderWay.lease)
      // A late answer carries an old time.
      if ContinuousClock.now - start < .seconds(1), let correction = context.clock.learn(now) {
        log.warning("the clock was set to Redis' time", ["correctionSeconds": .double(Double(correction) / 1000)])
      }
      return slot == .taken ? .taken : .refused(slot)
    } catch {
      // Without Redis each process counts `maxConcurrency` by itself.
      log.warning("Redis could not be asked for the attempt", ["cause": .failure(error)])
      return endpoint.maxPerSecond == nil ? .none : .unknown
    }
  }

  private func putOff(_ pass: EndpointLanes.Pass, _ refusal: Slot) async -> Bool {
    if refusal == .refused(.full) {
      let parking = dependencies.lanes.abortForOthers(pass, limit: endpoint.maxConcurrency)
      return await putOff(parking, .concurrency, waited: pass.waited + parking)
    }
    dependencies.lanes.abort(pass)
    // The slot of a notifier that died ends with its lease.
    let parking = delivery.crashes > 0 ? AttemptsUnderWay.lease : DeliveryDelayQueue.postponement(delivery.parks)
    switch refusal {
    case .refused(.planned(let time)):
      return await putOff(time, .rate, isPlanned: true, waited: pass.waited + time)
    case .refused: return await putOff(parking, .copy)
    case .none, .taken, .unknown: return await putOff(parking, .store)
    }
  }

  private func release() {
    let (pacing, delivery, id) = (dependencies.pacing, delivery, endpoint.id)
    dependencies.underWay.giveBack { try await pacing.release(delivery, at: id) }
  }

  private func attempt(_ pass: EndpointLanes.Pass, hasSlot: Bool) async -> Bool {
    if let defect = endpoint.secretsDefect {
      dependencies.lanes.abort(pass)
      if hasSlot { release() }
      return await putOff(defect)
    }
    let content = await content()
    switch content {
    case .event, .posted: return await attempt(content, pass, hasSlot: hasSlot)
    case .gone, .unknown:
      dependencies.lanes.abort(pass)
      if hasSlot { release() }
      if case .unknown = content { return await putOff(DeliveryDelayQueue.postponement(delivery.parks), .store) }
      dependencies.metrics.forwards.count(NotifierMetrics.dropped)
      return await record(.dropped) != nil
    }
  }

  private func attempt(_ content: Content, _ pass: EndpointLanes.Pass, hasSlot: Bool) async -> Bool {
    start.end()
    let number = dependencies.underWay.add(delivery, endpoint: endpoint.id)
    let attempt = await WebhookAttempt(dependencies, delivery, endpoint, content, waited: pass.waited).send()
    if let fatal = context.faults.crashDelivery, delivery.synchronizationId == SynchronizationId(fatal) { abort() }
    dependencies.underWay.remove(number)
    dependencies.lanes.end(pass, ranOutOfTime: attempt.ranOutOfTime)
    // While the ledger is away, the slot would only keep others waiting. Otherwise it goes after the record, so that no
    // copy of the message makes the same attempt in between.
    var holdsSlot = hasSlot
    if !dependencies.postgres.isReady { giveBack(&holdsSlot) }
    defer { giveBack(&holdsSlot) }
    let step = attempt.step(
      number: delivery.attempt, jitter: Double.random(in: 0.8...1.2),
      schedule: endpoint.retry.schedule(standard: context.settings.notifier.retrySchedule))
    // If the notifier stops, the endpoint did not fail.
    if Task.isCancelled, step != .delivered { return false }
    (endpoint.isForward ? dependencies.metrics.forwards : dependencies.metrics.attempts).count(step.result.rawValue)
    dependencies.metrics.publisherAttempts.count(delivery.publisherId.number)
    let now = context.now()
    var nextAt: Int64?
    if case .again(let delay, _) = step { nextAt = now + Int64(delay.wholeMilliseconds) }
    let record = attempt.record(delivery, endpoint, step, nextAt, at: now)
    guard let health = await self.record(record) else { return false }
    giveBack(&holdsSlot)
    await disableIfNeeded(step, failingSince: health.failingSince)
    return await follow(step.result, nextAt, reason: step.error ?? "", firstDelay: attempt.firstDelay)
  }

  private func giveBack(_ holdsSlot: inout Bool) {
    if holdsSlot { release() }
    holdsSlot = false
  }

  /// What the publisher's mode makes of the delivery now.
  private var telling: EventTelling {
    guard delivery.followsMode else { return .told }
    return context.telling(of: delivery.publisherId, since: delivery.time.flatMap { milliseconds(rfc3339: $0) })
  }

  /// Ends a delivery of which nobody is told, or lets it wait.
  private func hold(_ telling: EventTelling) async -> Bool {
    guard case .waits(let pause) = telling else { return await skip("the publisher is in shadow mode") }
    return await putOff(pause, .shadow)
  }

  /// Records a skipped attempt. The endpoint is owed the event until its publisher asks for it.
  private func skip(_ cause: String) async -> Bool {
    dependencies.metrics.attempts.count(DeliveryAttempt.Result.skipped.rawValue)
    let skipped = DeliveryAttempt(
      eventId: delivery.eventId, endpointId: endpoint.id, topic: delivery.topic, version: delivery.version,
      number: delivery.attempt, time: context.now(), error: cause, result: .skipped)
    return await record(skipped) != nil ? await follow(.skipped, nil, reason: "") : false
  }

  private func record(_ attempt: DeliveryAttempt) async -> DeliveryRecorder.Recorded? {
    let name = UnrecordedAttempt(delivery, at: endpoint.id)
    dependencies.unrecorded.insert(name)
    defer { dependencies.unrecorded.remove(name) }
    return await record(.attempted(attempt, isConfigured: endpoint.source == .configuration))
  }

  /// Waits until the ledger has a change, and the broker a message for each endpoint that the look missed.
  ///
  /// - Returns: `nil` if the ledger refused it, or the notifier stops: then the message must not go.
  private func record(_ kind: DeliveryChange.Kind) async -> DeliveryRecorder.Recorded? {
    do {
      let recorded = try await dependencies.recorder.record(DeliveryChange(delivery, at: endpoint.id, look: look, kind))
      return await dependencies.spread(delivery, to: recorded.missed, log) ? recorded : nil
    } catch {
      log.error("the ledger did not store a record", ["cause": .failure(error)])
      return nil
    }
  }

  /// Disables an endpoint that is gone or has failed for too long.
  ///
  /// The commit writes the event about it, into the outbox too. If it fails, the next attempt at the endpoint tries it
  /// again.
  private func disableIfNeeded(_ step: DeliveryStep, failingSince: Int64?) async {
    // Nobody could enable the URL of a forward again. Each notification ends for it after a day.
    guard step != .delivered, !endpoint.isForward else { return }
    let reason: EndpointHealth.Reason
    if step == .gone {
      reason = .gone
    } else {
      let longest = Int64(context.settings.notifier.disableAfter.wholeMilliseconds)
      guard let failingSince, context.now().subtracting(failingSince) >= longest else { return }
      reason = .failing
    }
    do {
      let publisher = delivery.publisherId
      let audience = context.publishers.audience
      guard let told = try await dependencies.endpoints.disable(publisher, endpoint, reason, audience: audience)
      else { return }
      log.error("endpoint disabled", ["reason": .string(reason.rawValue)])
      dependencies.metrics.disabled.count(reason.rawValue)
      dependencies.outlet.publish(told)
    } catch {
      log.warning("the endpoint could not be disabled", ["cause": .failure(error)])
    }
  }

  /// Does the next step after an attempt. This run made the attempt, or an earlier run that did not get this far.
  ///
  /// - Parameter firstDelay: the seconds from the event to this attempt, if it is the first one.
  private func follow(
    _ result: DeliveryAttempt.Result, _ nextAt: Int64?, reason: String, firstDelay: Double? = nil
  ) async -> Bool {
    // The log leaves an empty text out.
    let waited = firstDelay.map(Log.Value.double) ?? ""
    switch result {
    case .delivered, .skipped:
      log.info(
        result == .delivered ? "delivered" : "delivery skipped", ["firstAttemptDelaySeconds": waited])
      return true
    case .failed:
      let now = context.now()
      var next = addressed
      next.attempt += 1
      next.parks = 0
      next.crashes = 0
      next.waited = 0
      next.due = nextAt
      let delay = Double((nextAt ?? now) - now) / 1000
      log.info(
        "delivery delayed",
        ["cause": .string(reason), "delaySeconds": .double(delay), "firstAttemptDelaySeconds": waited])
      return await dependencies.enqueue(next, now: now, log)
    case .abandoned:
      guard !endpoint.isForward else {
        log.warning(
          "a notification was not passed on", ["cause": .string(reason), "firstAttemptDelaySeconds": waited])
        return true
      }
      return await bury(.abandoned, reason, log.with(["firstAttemptDelaySeconds": waited]))
    }
  }

  private func bury(_ reason: BurialReason, _ cause: String) async -> Bool { await bury(reason, cause, log) }

  private func bury(_ reason: BurialReason, _ cause: String, _ log: Log) async -> Bool {
    let message = addressed.message(queue: dependencies.topology.deadDeliveries, reason: cause)
    return await dependencies.bury(message, reason, log)
  }

  /// Sends the delivery away without an attempt, so that the notifier holds nothing that waits for an endpoint.
  ///
  /// - Parameters:
  ///   - isPlanned: whether the endpoint's rate has room at that time.
  ///   - waited: the part of the delay that the endpoint itself causes.
  private func putOff(
    _ time: Duration, _ cause: PutOffCause, isPlanned: Bool = false, waited: Duration = .zero
  ) async -> Bool {
    dependencies.metrics.putOff.count(cause.rawValue)
    let now = context.now()
    var later = addressed
    later.due = now + Int64(time.wholeMilliseconds)
    later.isPlanned = isPlanned
    later.waited += Int64(waited.wholeMilliseconds)
    later.parks += isPlanned ? 0 : 1
    log.debug("delivery put off", ["cause": .string(cause.rawValue), "delaySeconds": .double(time.inSeconds)])
    let postponed = DeliveryChange.Kind.postponed(until: later.due ?? now)
    if look == nil {
      dependencies.recorder.note(DeliveryChange(delivery, at: endpoint.id, postponed))
    } else {
      // From now on the event waits for each endpoint apart.
      guard await record(postponed) != nil else { return false }
    }
    return await dependencies.enqueue(later, now: now, log)
  }

  /// Keeps a delivery that nobody could sign until the endpoint's secrets can be read.
  private func putOff(_ defect: WebhookEndpoint.SecretsDefect) async -> Bool {
    let error = UnreadableSecrets(publisherId: delivery.publisherId, endpointId: endpoint.id, defect: defect)
    log.error("delivery put off", ["cause": .failure(error), "keyId": .string(defect.keyId ?? "none")])
    dependencies.metrics.unreadableSecrets.count(defect.cause.rawValue)
    return await putOff(DeliveryDelayQueue.postponement(delivery.parks), .secret)
  }

  /// The delivery to this endpoint only.
  private var addressed: Delivery {
    var addressed = delivery
    addressed.endpointId = endpoint.id
    addressed.due = nil
    addressed.isPlanned = false
    addressed.misses = 0
    return addressed
  }
}
