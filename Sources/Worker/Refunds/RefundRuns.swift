import AppStore
import Configuration
import Domain
import EventLoop
import Formats
import Glibc
import Ledger
import Observability
import Service

/// Answers Apple's questions about refunds: takes requests that are due from the ledger, and tells Apple.
///
/// No message carries them. A commit that begins a request gives a hint, and a look each second finds what a killed
/// worker has left.
@LoopActor
final class RefundRuns {
  private let context: RoleContext
  private let requests: RefundRequests
  private let purchases: PurchaseReader
  private let verification: PurchaseVerification.Dependencies
  private let outlet: EventOutlet
  private let places: @LoopActor (Publisher) -> [AppPlace]
  private let rows: SuspectRows
  private let metrics: RefundMetrics
  private let runs = RunningTasks()
  private var turns = FairTurns<Int64>(places: RefundRuns.mostAtOnce, part: 4)
  private var timer: LoopTimer?
  private var countTimer: LoopTimer?
  private var isTaking = false
  private var isHinted = false

  /// How often a worker looks for due requests.
  private static let interval = Duration.seconds(1)
  /// How often a worker counts the requests without an answer.
  private static let countInterval = Duration.seconds(15)
  /// The most requests of one worker at once. One of several publishers gets a quarter of them at most.
  private static let mostAtOnce = 32
  /// Nobody needs to know a greater number of open requests.
  private static let mostCounted = 10_000

  init(
    _ context: RoleContext, _ requests: RefundRequests, _ purchases: PurchaseReader,
    _ outlet: EventOutlet, _ verification: PurchaseVerification.Dependencies, _ rows: SuspectRows,
    places: @escaping @LoopActor (Publisher) -> [AppPlace]
  ) {
    self.context = context
    self.requests = requests
    self.purchases = purchases
    self.outlet = outlet
    self.verification = verification
    self.places = places
    self.rows = rows
    metrics = RefundMetrics(context.metrics, now: context.now)
  }

  /// Whether the ledger can be asked. The worker sets it.
  var isReady: @LoopActor () -> Bool = { false }

  func start() {
    let timer = LoopTimer { [weak self] in self?.take() }
    timer.start(after: Self.interval * Double.random(in: 0.5...1), every: Self.interval)
    self.timer = timer
    let countTimer = LoopTimer { [weak self] in self?.count() }
    countTimer.start(after: Self.interval, every: Self.countInterval)
    self.countTimer = countTimer
  }

  /// Takes no more requests.
  func close() {
    timer?.close()
    countTimer?.close()
    (timer, countTimer) = (nil, nil)
    runs.close()
  }

  /// Finishes the running calls. Another worker takes what is left when its lease ends.
  func finish(within grace: Duration) async { await runs.finish(within: grace) }

  /// Looks at once: a commit has just begun a request, or an answer may be sent.
  func hint() {
    isHinted = true
    take()
  }

  // MARK: Taking

  private func take() {
    let free = Self.mostAtOnce - runs.count
    guard free > 0, !isTaking, !runs.isClosed, isReady() else { return }
    isTaking = true
    isHinted = false
    Task.immediate { @LoopActor in
      do {
        let due = try await requests.takeDue(shares(free), limit: free, lease: lease)
        // A worker that stops leaves them to another one.
        for request in due where !runs.isClosed { start(request) }
      } catch {
        context.log.ledgerFailure("due refund requests could not be taken", error)
      }
      isTaking = false
      if isHinted { take() }
    }
  }

  /// A call takes less, so that nobody else makes the same call meanwhile.
  private var lease: Duration { context.settings.appStore.timeout + .seconds(10) }

  private func shares(_ free: Int) -> [RefundRequests.Share] {
    turns.shares(of: context.publishers.all.map(\.id), free: free).map {
      RefundRequests.Share(publisherId: $0.name, most: $0.most)
    }
  }

  private func start(_ due: DueRefundRequest) {
    let publisher = due.request.purchase.publisherId
    turns.begin(publisher)
    runs.start { [self] in
      await rows.run(.refund, "\(publisher):\(due.request.id)") { await self.look(due) }
      turns.end(publisher)
    }
  }

  private func count() {
    guard isReady() else { return }
    Task.immediate { @LoopActor in
      do {
        metrics.note(
          try await requests.backlog(of: context.publishers.all.map(\.id), atMost: Self.mostCounted))
      } catch {
        context.log.ledgerFailure("refund requests could not be counted", error)
      }
    }
  }

  // MARK: One request

  private func look(_ due: DueRefundRequest) async {
    // Without the publisher's file nobody may decide. The request stays.
    guard let publisher = context.publishers[due.request.purchase.publisherId] else { return }
    let log = context.log.with([
      "publisherId": .int(publisher.id), "refundRequestId": .string(due.request.id),
      "transactionId": .string(due.request.transactionId), "environment": .string(due.request.purchase.environment),
    ])
    var request = due.request
    do {
      switch request.errand(due.consent, now: context.now()) {
      case .note(let next): try await record(next, due, publisher, log)
      case .decide:
        if let answer = try await answer(to: request, due.consent, publisher) {
          request.send(answer, by: .policy, due.consent, now: context.now())
        } else {
          request.ask()
        }
        // The ledger says `sending` before Apple is called. From then on the publisher's other answer is a conflict.
        // The next look makes the call, and reads the consent again.
        try await record(request, due, publisher, log)
        if request.state == .sending { hint() }
      case .send(let answer):
        try await record(await send(answer, request, publisher, log), due, publisher, log)
      }
    } catch {
      // The lease ends, and somebody looks again.
      log.ledgerFailure("a refund request could not be written", error)
    }
  }

  /// The answer that the policy allows now.
  private func answer(
    to request: RefundRequest, _ consent: Consent?, _ publisher: Publisher
  ) async throws -> ConsumptionAnswer? {
    let found = try await purchases.purchases([request.purchase])[request.purchase]
    guard let facts = found?.transactions[request.transactionId.exact] else { return nil }
    return ConsumptionPolicy.answer(
      about: facts, owner: request.customerId, consent, offers: publisher.offers, now: context.now())
  }

  private func send(
    _ answer: ConsumptionAnswer, _ request: RefundRequest, _ publisher: Publisher, _ log: Log
  ) async -> RefundRequest {
    let place = places(publisher).first {
      $0.app.bundleId.exact == request.bundleId.exact
        && $0.environment.rawValue.exact == request.purchase.environment.exact
    }
    if request.transactionId == context.faults.crashBeforeAnswer { abort() }
    let outcome = await RefundCall(
      request: request, answer: answer, place: place, verification: verification, log: log
    ).run()
    if case .failed = outcome { metrics.failures.count() }
    return request.after(outcome, now: context.now())
  }

  private func record(
    _ next: RefundRequest, _ due: DueRefundRequest, _ publisher: Publisher, _ log: Log
  ) async throws {
    guard try await write(next, due, publisher, log) else {
      return log.info("a refund request changed meanwhile", ["state": .string(next.state.rawValue)])
    }
    guard !next.state.isPending, next.state != due.request.state else { return }
    metrics.ended.count(next.state.rawValue)
    if next.state == .answered {
      log.info("refund request answered", ["attempts": .int(Int64(next.attempts))])
    } else {
      log.warning(
        "refund request ended without an answer",
        ["state": .string(next.state.rawValue), "cause": .string(next.lastError ?? "")])
    }
  }

  /// Writes a request down. If the publisher has to answer after all, it is told so in the same commit.
  private func write(
    _ next: RefundRequest, _ due: DueRefundRequest, _ publisher: Publisher, _ log: Log
  ) async throws -> Bool {
    guard next.mustBeAsked(after: due.request) else { return try await requests.record(next, at: due.revision) }
    let version = try await purchases.purchases([next.purchase])[next.purchase]?.version ?? 0
    let (offer, now) = (publisher.offers.offer(forProduct: next.productId)?.id, context.now())
    let configured = Set(context.publishers.all.lazy.filter { !$0.webhooks.isEmpty }.map(\.id))
    let event = try await requests.record(next, at: due.revision, configured: configured) { written in
      Event(
        of: written, offerId: offer, version: version, time: now, traceparent: TraceParent().description,
        again: due.revision)
    }
    guard let event else { return false }
    log.info("the publisher has to answer after all", ["state": .string(next.state.rawValue)])
    outlet.publish([event])
    return true
  }
}
