import AMQP
package import Domain
package import EventLoop
import Formats
import Ledger
import Observability
import Service

/// What a door asks for its caller.
package struct DoorRequest {
  let publisher: Publisher
  let door: Door
  /// The customer with the door's prefix; `nil` leaves the purchases unclaimed.
  var customerId: CustomerId?
  /// Whether the customer's own token asks for it.
  var isByCustomer = false
  /// The name of the publisher's token that asks for it.
  var tokenName: String?
  var attributes: PurchaseAttributes?
  var ipAddress: String?
  var requestedOfferId: OfferId?
  /// What the purchases are taken from. It may give access while Apple is away (`grantWhileAppleIsAway`).
  var evidence: LocalEvidence?
  /// The request's `traceparent`.
  var traceparent: String?

  /// Creates a request.
  package init(
    publisher: Publisher, door: Door, customerId: CustomerId? = nil, isByCustomer: Bool = false,
    tokenName: String? = nil,
    attributes: PurchaseAttributes? = nil, ipAddress: String? = nil, requestedOfferId: OfferId? = nil,
    evidence: LocalEvidence? = nil, traceparent: String? = nil
  ) {
    (self.publisher, self.door) = (publisher, door)
    (self.customerId, self.isByCustomer, self.tokenName) = (customerId, isByCustomer, tokenName)
    (self.attributes, self.ipAddress, self.requestedOfferId) = (attributes, ipAddress, requestedOfferId)
    (self.evidence, self.traceparent) = (evidence, traceparent)
  }
}

/// Why a door can accept nothing.
package enum DoorRefusal: Error {
  /// The door takes registered customers only, and the publisher has not put this one.
  case unknownCustomer
  /// As many requests wait as may.
  case tooManyWaiting
  /// A server is away.
  case unavailable(String)
}

/// What became of one purchase.
package struct DoorResult {
  package let purchase: LocalPurchase
  package let state: State

  package enum State: Equatable {
    case finalized(SynchronizationResult)
    /// The job is queued and confirmed. Apple has not answered yet; the result comes as an event.
    case accepted
    /// The job was not accepted, for this reason.
    case failed(String)
  }
}

extension DoorResult {
  /// The purchase in the ledger. An old receipt does not name it exactly, but Apple's answer does.
  package var key: PurchaseKey {
    guard case .finalized(let result) = state, let environment = result.environment,
      let original = result.originalTransactionId
    else { return purchase.key }
    return PurchaseKey(
      publisherId: purchase.key.publisherId, environment: environment, originalTransactionId: original)
  }
}

/// Registers the purchases of local evidence, and waits for their results.
///
/// Each purchase becomes a job as in ``Registration``: the broker has confirmed it before anybody waits. So a client
/// that hangs up loses nothing.
@LoopActor
package struct DoorRegistration {
  let context: RoleContext
  let registration: Registration
  let waits: FinalizationWaits
  /// The queue that workers reply to.
  let replyTo: String
  let synchronizations: SynchronizationReader
  let provision: Provision

  /// The most purchases of one request that are asked about: the newest ones.
  package nonisolated static let mostPurchases = 200
  /// How many jobs of one request are published at a time.
  private static let atOnce = 16
  /// How long a caller that waits for no result waits until its job is accepted.
  private static let patience = Duration.seconds(5)
  /// When a job is tried again whose transaction has enough jobs.
  private static let pace = Duration.milliseconds(250)
  /// The part of the time after which the ledger is read once: a reply may have got lost.
  private static let lookAfter = 0.8

  /// Registers purchases.
  ///
  /// - Parameter wait: how long the caller may wait for the results; `nil` waits for none.
  /// - Throws: ``DoorRefusal`` when nothing was accepted.
  package func register(
    _ purchases: [LocalPurchase], _ request: DoorRequest, wait limit: Duration?
  ) async throws(DoorRefusal) -> [DoorResult] {
    guard !purchases.isEmpty else { return [] }
    let purchases = purchases.prefix(Self.mostPurchases)
    let start = ContinuousClock.now
    let trace = TraceParent(of: request.traceparent)
    let jobs = purchases.map { job(of: $0, request, trace, isAwaited: limit != nil) }
    let ids = jobs.map(\.synchronizationId)
    var wait: FinalizationWait?
    if limit != nil {
      guard let begun = waits.begin(ids, of: request.publisher.id) else { throw .tooManyWaiting }
      wait = begun
    }
    defer { if wait != nil { waits.end(ids, of: request.publisher.id) } }
    let failures = try await enqueue(jobs, request, trace, until: start + (limit ?? Self.patience))
    for id in failures.keys { wait?.forget(id) }
    let accepted = zip(jobs, purchases).map { (job: $0, purchase: $1) }
      .filter { failures[$0.job.synchronizationId] == nil }
    if let wait, let limit {
      await untilFinalized(wait, accepted, request, start + limit)
    } else {
      provision.begin(accepted, request, isAwaited: false)
    }
    return zip(jobs, purchases).map { job, purchase in
      let id = job.synchronizationId
      if let failure = failures[id] { return DoorResult(purchase: purchase, state: .failed(failure)) }
      return DoorResult(purchase: purchase, state: wait?.results[id].map { .finalized($0) } ?? .accepted)
    }
  }

  private func job(of purchase: LocalPurchase, _ request: DoorRequest, _ trace: TraceParent, isAwaited: Bool) -> Job {
    Job(
      synchronizationId: newSynchronizationId(), publisherId: request.publisher.id,
      customerId: request.customerId ?? CustomerId.nobody, transactionId: purchase.transactionId,
      // The caller had it as Apple signed it.
      signedPurchase: purchase.key, isByCustomer: request.isByCustomer, tokenName: request.tokenName,
      door: request.door,
      attributes: request.attributes, requestedOfferId: request.requestedOfferId, replyTo: isAwaited ? replyTo : nil,
      ipAddress: request.ipAddress, registeredAt: context.now(), traceparent: trace.description)
  }

  // MARK: Accepting

  /// Publishes the jobs.
  ///
  /// - Returns: why some of them were not accepted, by their ids.
  private func enqueue(
    _ jobs: [Job], _ request: DoorRequest, _ trace: TraceParent, until end: ContinuousClock.Instant
  ) async throws(DoorRefusal) -> [SynchronizationId: String] {
    guard registration.publisher.isReady else { throw .unavailable("The message broker cannot take jobs now.") }
    let caller = Caller(publisher: request.publisher, customerId: nil)
    // The first one tells whether the customer is known at all.
    var failures: [SynchronizationId: String] = [:]
    if let (refusal, problem) = await enqueue(jobs[0], caller, trace, until: end) {
      if refusal == .unknownCustomer { throw .unknownCustomer }
      failures[jobs[0].synchronizationId] = problem.detail ?? problem.message
    }
    // Groups of jobs go one after the other, so that a long receipt does not fill the broker's connection.
    var rest = jobs.dropFirst()
    while !rest.isEmpty {
      let some = rest.prefix(Self.atOnce)
      rest = rest.dropFirst(some.count)
      let tasks = some.map { job in
        (job.synchronizationId, Task.immediate { @LoopActor in await enqueue(job, caller, trace, until: end) })
      }
      var failed = 0
      for (id, task) in tasks {
        guard let (_, problem) = await task.value else { continue }
        failures[id] = problem.detail ?? problem.message
        failed += 1
      }
      // A server is away or slow, and the caller waits.
      guard failed < some.count, .now < end else {
        for job in rest { failures[job.synchronizationId] = "An earlier one could not be accepted in time." }
        break
      }
    }
    if failures.count == jobs.count, let reason = failures[jobs[0].synchronizationId] { throw .unavailable(reason) }
    return failures
  }

  /// - Returns: why the job was not accepted; `nil` when it was.
  private func enqueue(
    _ job: Job, _ caller: Caller, _ trace: TraceParent, until end: ContinuousClock.Instant
  ) async -> (Registration.Refusal, Problem)? {
    while true {
      switch await registration.enqueue(job, by: caller, trace, isShared: true) {
      case .accepted: return nil
      // The transaction has a job, and a further one a moment ago. Or a long receipt has more purchases than a customer
      // may have open: some of them end soon.
      case .refused(let refusal, let problem) where [.held, .limited].contains(refusal) && .now + Self.pace < end:
        guard (try? await EventLoop.sleep(for: Self.pace)) != nil else { return (refusal, problem) }
      case .refused(let refusal, let problem): return (refusal, problem)
      }
    }
  }

  // MARK: Waiting

  /// Waits for the results, until the caller's time has passed.
  ///
  /// The looks at the ledger and at Apple's absence run beside the wait. A slow server cannot make the caller wait
  /// longer, and what is late goes on after the answer.
  private func untilFinalized(
    _ wait: FinalizationWait, _ accepted: [(job: Job, purchase: LocalPurchase)], _ request: DoorRequest,
    _ end: ContinuousClock.Instant
  ) async {
    await wait.untilFinalized(atMost: (end - .now) * Self.lookAfter)
    guard !wait.missing.isEmpty else { return }
    provision.looks.beside { await look(wait, accepted, request) }
    await wait.untilFinalized(atMost: end - .now)
  }

  /// Reads the ledger once, because a reply may have got lost. The other jobs may give access while Apple is away.
  private func look(
    _ wait: FinalizationWait, _ accepted: [(job: Job, purchase: LocalPurchase)], _ request: DoorRequest
  ) async {
    do {
      for (id, result) in try await synchronizations.results(request.publisher.id, wait.missing) {
        wait.note(id, result)
      }
    } catch {
      context.log.ledgerFailure("the ledger could not be asked for results", error)
    }
    let missing = Set(wait.missing)
    let open = accepted.filter { missing.contains($0.job.synchronizationId) }
    provision.begin(open, request, isAwaited: true) { wait.forget($0.synchronizationId) }
  }
}
