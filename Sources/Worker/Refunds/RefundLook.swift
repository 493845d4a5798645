import AppStore
import Configuration
import Domain
import EventLoop
import Glibc
import Ledger
import Observability
import Service

/// One look at a request for a refund: decides the answer, tells Apple, and writes down what became of it.
@LoopActor
struct RefundLook {
  let due: DueRefundRequest
  let publisher: Publisher
  let dependencies: RefundRuns.Dependencies
  let metrics: RefundMetrics
  let log: Log

  /// What follows a look.
  enum Next: Equatable {
    /// There is another look to take at once.
    case again
    case nothing
  }

  init(
    _ due: DueRefundRequest, of publisher: Publisher, _ dependencies: RefundRuns.Dependencies, _ metrics: RefundMetrics
  ) {
    (self.due, self.publisher, self.dependencies, self.metrics) = (due, publisher, dependencies, metrics)
    log = dependencies.context.log.with([
      "publisherId": .int(publisher.id.number), "refundRequestId": .string(due.request.id.text),
      "transactionId": .string(due.request.transactionId.text),
      "environment": .string(due.request.purchase.environment.text),
    ])
  }

  private var now: Int64 { dependencies.context.now() }

  func run() async -> Next {
    var request = due.request
    do {
      switch request.errand(due.consent, now: now) {
      case .note(let next): try await record(next)
      case .decide:
        if let answer = try await answer(to: request) {
          request.send(answer, by: .policy, due.consent, now: now)
        } else {
          request.ask()
        }
        // The ledger says `sending` before Apple is called. From then on the publisher's other answer is a conflict.
        // The next look makes the call, and reads the consent again.
        try await record(request)
        if request.state == .sending { return .again }
      case .send(let answer): try await record(await send(answer, request))
      }
    } catch {
      // The lease ends, and somebody looks again.
      log.ledgerFailure("a refund request could not be written", error)
    }
    return .nothing
  }

  /// The answer that the policy allows now.
  private func answer(to request: RefundRequest) async throws -> ConsumptionAnswer? {
    let found = try await dependencies.purchase(request.purchase)
    guard let facts = found?.transactions[request.transactionId] else { return nil }
    return ConsumptionPolicy.answer(
      about: facts, owner: request.customerId, due.consent, publisher: publisher, now: now)
  }

  private func send(_ answer: ConsumptionAnswer, _ request: RefundRequest) async -> RefundRequest {
    let place = dependencies.places(publisher).first {
      $0.app.bundleId == request.bundleId
        && $0.environment == request.purchase.environment
    }
    if request.transactionId == dependencies.context.faults.crashBeforeAnswer { abort() }
    let call = RefundCall(
      request: request, answer: answer, place: place, verification: dependencies.verification, log: log)
    let result = await call.run()
    if case .failed = result { metrics.failures.count() }
    return request.after(result, now: now)
  }

  private func record(_ next: RefundRequest) async throws {
    guard try await write(next) else {
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
  private func write(_ next: RefundRequest) async throws -> Bool {
    guard next.mustBeAsked(after: due.request) else { return try await dependencies.record(next, due.revision) }
    let version = try await dependencies.purchase(next.purchase)?.version ?? 0
    let (offer, now) = (publisher.offers.offer(forProduct: next.productId)?.id, now)
    let told = try await dependencies.tell(next, due.revision) { written in
      Event(
        of: written, offerId: offer, version: version, time: now, traceparent: TraceParent().description,
        again: due.revision)
    }
    guard let told else { return false }
    log.info("the publisher has to answer after all", ["state": .string(next.state.rawValue)])
    dependencies.publish(told)
    return true
  }
}
