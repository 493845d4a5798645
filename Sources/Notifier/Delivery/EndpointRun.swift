import AMQP
import Configuration
import Domain
import EventLoop
import Formats
import Ledger
import Messaging
import Observability
import Redis
import Service
import Store

/// Makes one attempt to deliver an event to one endpoint, or puts it off, and records the outcome.
///
/// The order makes a crash harmless at every step. First the run makes the attempt, then it writes the record to Redis,
/// then it publishes the message that follows. At last the caller acknowledges. If another run gets the message again,
/// it finds the record and does the rest.
@LoopActor
final class EndpointRun {
  let notifier: Notifier
  let delivery: Delivery
  let endpoint: WebhookEndpoint
  /// Whether the endpoint was disabled at the last reading. It counts only while Redis does not answer.
  let wasDisabled: Bool
  let log: Log

  var context: RoleContext { notifier.context }

  init(_ notifier: Notifier, _ delivery: Delivery, _ entry: EndpointDirectory.Entry) {
    let endpoint = entry.endpoint
    self.notifier = notifier
    self.delivery = delivery
    self.endpoint = endpoint
    wasDisabled = entry.wasDisabled
    log = notifier.context.log.with([
      "eventId": .string(delivery.eventId), "publisherId": .int(delivery.publisherId),
      "synchronizationId": .string(delivery.synchronizationId), "endpoint": .string(endpoint.id),
      "attempt": .int(Int64(delivery.attempt)),
      "traceId": .string(delivery.traceparent.flatMap { TraceParent($0)?.traceId } ?? ""),
    ])
  }

  /// - Returns: whether the notifier has delivered, delayed or buried the event, so that this message may go.
  func run() async -> Bool {
    let name = Lanes.Name(publisher: delivery.publisherId, endpoint: endpoint.id)
    switch await notifier.lanes.enter(name, limit: endpoint.maxConcurrency) {
    case .handBack: return false
    case .park(let parked):
      let wait = parked.waited + (parked.isOfEndpoint ? parked.time : .zero)
      return await putOff(parked.time, parked.isOfEndpoint ? .busy : .share, waited: wait)
    case .go(let pass): return await begin(pass)
    }
  }

  private func begin(_ pass: Lanes.Pass) async -> Bool {
    let beginning: AttemptBeginning
    let start = ContinuousClock.now
    do {
      beginning = try await notifier.store.begin(delivery, to: endpoint, lease: AttemptsUnderWay.lease)
    } catch let error as RedisError where error.isNewerRecord {
      log.warning("a newer notifier keeps the record of the attempt", ["cause": .failure(error)])
      notifier.lanes.abort(pass)
      return await putOff(DeliveryDelay.parking(delivery.parks), .newerFormat)
    } catch {
      // Without Redis the notifier still delivers, unless the endpoint was disabled or has a rate. Two promises then
      // suffer: each process counts `maxConcurrency` by itself, and the notifier misses a deletion of the last second.
      log.warning("Redis could not be asked for the attempt", ["cause": .failure(error)])
      if endpoint.maxPerSecond == nil, !wasDisabled { return await attempt(pass) }
      notifier.lanes.abort(pass)
      return await putOff(DeliveryDelay.parking(delivery.parks), .store)
    }
    // A late answer carries an old time.
    if ContinuousClock.now - start < .seconds(1), let correction = context.clock.learn(beginning.now) {
      log.warning("the clock was set by Redis'", ["correctionSeconds": .double(Double(correction) / 1000)])
    }
    if beginning.permission == .go { return await attempt(pass) }
    var parking = DeliveryDelay.parking(delivery.parks)
    if beginning.permission == .full {
      parking = notifier.lanes.abortForOthers(pass, limit: endpoint.maxConcurrency)
    } else {
      notifier.lanes.abort(pass)
    }
    guard await announce(beginning.unannounced) else { return false }
    switch beginning.permission {
    case .go, .superseded: return true
    case .full: return await putOff(parking, .concurrency, waited: pass.waited + parking)
    case .underWay: return await putOff(parking, .copy)
    case .planned(let time): return await putOff(time, .rate, isPlanned: true, waited: pass.waited + time)
    case .made(let outcome, let nextAt):
      log.info("made before", ["outcome": .string(outcome.rawValue)])
      return await follow(outcome, nextAt, reason: "attempt \(delivery.attempt) was the last")
    case .disabled: return await skip()
    case .gone: return await bury(.endpointGone, "endpoint \(endpoint.id) was deleted")
    }
  }

  private func attempt(_ pass: Lanes.Pass) async -> Bool {
    let number = notifier.underWay.add(delivery, endpoint: endpoint.id)
    let attempt = await WebhookAttempt(notifier, delivery, endpoint, waited: pass.waited).send()
    notifier.underWay.remove(number)
    notifier.lanes.end(pass, ranOutOfTime: attempt.ranOutOfTime)
    let verdict = attempt.verdict(
      number: delivery.attempt, jitter: Double.random(in: 0.8...1.2),
      schedule: endpoint.retry.schedule(standard: context.settings.notifier.retrySchedule))
    if Task.isCancelled, verdict != .delivered {
      // The notifier stops. The endpoint did not fail.
      try? await notifier.store.release(delivery, to: endpoint.id)
      return false
    }
    notifier.metrics.attempts.count(verdict.outcome.rawValue)
    var nextAt: Int64?
    if case .again(let delay, _) = verdict { nextAt = context.now() + Int64(delay.wholeMilliseconds) }
    guard await record(attempt.record(delivery, endpoint, verdict, nextAt), isGone: verdict == .gone) else {
      return false
    }
    return await follow(verdict.outcome, nextAt, reason: verdict.error ?? "")
  }

  /// Records a skipped attempt. The endpoint is owed the event until its publisher asks for it.
  private func skip() async -> Bool {
    notifier.metrics.attempts.count(DeliveryAttempt.Outcome.skipped.rawValue)
    let skipped = DeliveryAttempt(
      eventId: delivery.eventId, endpointId: endpoint.id, topic: delivery.topic, version: delivery.version,
      number: delivery.attempt, time: context.now(), error: "the endpoint is disabled", outcome: .skipped)
    // Without the record, nobody would deliver the event later. So the notifier skips it once more, later.
    return await record(skipped, isGone: false, mustBeKept: true)
      ? await follow(.skipped, nil, reason: "") : await putOff(DeliveryDelay.parking(delivery.parks), .store)
  }

  /// Records an attempt. If the attempt disabled the endpoint, publishes the event about that.
  ///
  /// - Returns: whether the run may go on to the next step.
  private func record(_ attempt: DeliveryAttempt, isGone: Bool, mustBeKept: Bool = false) async -> Bool {
    let settings = context.settings.notifier
    do {
      let unannounced = try await notifier.store.finish(
        delivery, to: endpoint, attempt, isGone: isGone, disableAfter: settings.disableAfter,
        retention: settings.logRetention)
      return await announce(unannounced)
    } catch {
      // This line has all fields of the log of attempts, except the endpoint's answer.
      log.warning(
        "the end of the attempt is not recorded",
        [
          "outcome": .string(attempt.outcome.rawValue), "status": .int(Int64(attempt.status ?? 0)),
          "durationMilliseconds": .int(attempt.durationMilliseconds), "error": .string(attempt.error ?? ""),
          "nextAt": .string(attempt.nextAt.map(rfc3339) ?? ""), "cause": .failure(error),
        ])
      if mustBeKept { return false }
      notifier.metrics.unrecorded.count()
      return true
    }
  }

  /// Does the next step after an attempt. This run made the attempt, or an earlier run that did not get this far.
  private func follow(_ outcome: DeliveryAttempt.Outcome, _ nextAt: Int64?, reason: String) async -> Bool {
    switch outcome {
    case .delivered, .skipped:
      log.info(outcome == .delivered ? "delivered" : "delivery skipped")
      return true
    case .failed:
      let now = context.now()
      var next = addressed
      next.attempt += 1
      next.parks = 0
      next.waited = 0
      next.due = nextAt
      let delay = Double((nextAt ?? now) - now) / 1000
      log.info("delivery delayed", ["cause": .string(reason), "delaySeconds": .double(delay)])
      return await notifier.enqueue(next, now: now, log)
    case .abandoned: return await bury(.abandoned, reason)
    }
  }

  private func bury(_ reason: BurialReason, _ cause: String) async -> Bool {
    let message = addressed.message(queue: notifier.topology.deadDeliveries, reason: cause)
    return await notifier.bury(message, reason, log)
  }

  /// Sends the delivery away without an attempt, so that the notifier holds nothing that waits for an endpoint.
  ///
  /// - Parameters:
  ///   - isPlanned: whether the endpoint's rate has room at that time.
  ///   - waited: the part of the delay that the endpoint itself causes.
  private func putOff(
    _ time: Duration, _ cause: PutOffCause, isPlanned: Bool = false, waited: Duration = .zero
  ) async -> Bool {
    notifier.metrics.putOff.count(cause.rawValue)
    let now = context.now()
    var later = addressed
    later.due = now + Int64(time.wholeMilliseconds)
    later.isPlanned = isPlanned
    later.waited += Int64(waited.wholeMilliseconds)
    later.parks += isPlanned ? 0 : 1
    log.debug("delivery put off", ["cause": .string(cause.rawValue), "delaySeconds": .double(time.inSeconds)])
    return await notifier.enqueue(later, now: now, log)
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

  /// Publishes the event of a disabled endpoint, also if another run disabled it and then died.
  ///
  /// - Returns: whether the broker has the event, or there is no event to publish.
  private func announce(_ health: EndpointHealth?) async -> Bool {
    guard let health, let disabled = health.disabled else { return true }
    let message = EventMessage.disabled(
      endpoint, of: delivery.publisherId, disabled, failingSince: health.failingSince,
      exchange: notifier.topology.events)
    guard await notifier.publish(message, log) else { return false }
    log.error("endpoint disabled", ["reason": .string(disabled.reason.rawValue)])
    notifier.metrics.disabled.count(disabled.reason.rawValue)
    // If this fails, a later run publishes the event again, with the same id.
    try? await notifier.store.announced(publisher: delivery.publisherId, endpoint: endpoint.id)
    return true
  }
}
