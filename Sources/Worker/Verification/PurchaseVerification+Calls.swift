import AppStore
import Coordination
import Domain
import EventLoop
import HTTP
import Observability

/// The calls of a verification. Each call takes from the fleet's budget and is measured. If it fails, the verification
/// judges the failure.
extension PurchaseVerification {
  /// Takes a call out of the fleet's budget.
  ///
  /// If the budget has no call left, the attempt ends. The job waits in a delay queue, not here, and keeps Apple's
  /// answers.
  ///
  /// - Parameter only: the only endpoint that will do; `nil` takes any endpoint that has some budget left.
  @discardableResult
  func takeCall(_ only: AppStoreEndpoint?) async throws(Obstacle) -> AppStoreEndpoint? {
    let answer: CallAnswer
    do {
      answer = try await dependencies.budget.takeCall(place.call, only: only?.rawValue, urgency)
    } catch {
      throw .stop(.postponed(.storeUnavailable, wait: .seconds(1)), route: unfinished(only))
    }
    switch answer {
    case .granted(let grant): return AppStoreEndpoint(rawValue: grant.endpoint)
    case .wait(let wait):
      dependencies.metrics.budgetWaits.count()
      throw .stop(.postponed(.budget, wait: wait), route: unfinished(only))
    }
  }

  /// The route for the next run of the job. With it the next run asks for the missing answer only.
  @inline(never)
  func unfinished(_ missing: AppStoreEndpoint?) -> AppleRoute {
    AppleRoute(
      place: place.call.name, endpoint: missing?.rawValue, original: original, answers: answers.text)
  }

  /// Asks for the transaction.
  func askForTransaction() async throws(Obstacle) {
    let start = ContinuousClock.now
    do throws(AppStoreAPIError) {
      told(
        try await dependencies.api.transactionInfo(transactionId, in: place.environment, for: place.credentials),
        since: start
      )
    } catch {
      throw failed(error, since: start)
    }
  }

  private func told(_ answer: AppStoreAnswer<TransactionInfoResponse>, since start: ContinuousClock.Instant) {
    let signed = succeeded(answer, .transactionInfo, since: start).signedTransactionInfo
    answers.told(transaction: signed, at: dependencies.now())
  }

  /// Asks for the customer's subscriptions.
  func askForStatuses() async throws(Obstacle) {
    let start = ContinuousClock.now
    do throws(AppStoreAPIError) {
      told(
        try await dependencies.api.subscriptionStatuses(transactionId, in: place.environment, for: place.credentials),
        since: start)
    } catch {
      let obstacle = failed(error, since: start)
      guard case .api(let code) = error.kind, CallFailure.unknown.contains(code) else { throw obstacle }
      answers.told(statuses: nil, at: dependencies.now())
    }
  }

  private func told(_ answer: AppStoreAnswer<SubscriptionStatusesResponse>, since start: ContinuousClock.Instant) {
    let statuses = succeeded(answer, .subscriptionStatuses, since: start).data.flatMap { $0.lastTransactions ?? [] }
    answers.told(statuses: statuses, at: dependencies.now())
  }

  /// Notes an answer and returns its body.
  private func succeeded<Body>(
    _ answer: AppStoreAnswer<Body>, _ endpoint: AppStoreEndpoint, since start: ContinuousClock.Instant
  ) -> Body {
    observe(start, endpoint, "ok")
    place.accepted(at: dependencies.now(), log)
    log.debug(
      "Apple answered", ["endpoint": .string(endpoint.rawValue), "correlation": .text(answer.correlation.label)])
    return answer.body
  }

  /// Notes a failure.
  private func failed(_ error: AppStoreAPIError, since start: ContinuousClock.Instant) -> Obstacle {
    observe(start, error.endpoint, error.label)
    if CallFailure.provesKey(error.kind) { place.accepted(at: dependencies.now(), log) }
    let fields: KeyValuePairs<String, Log.Value> = [
      "endpoint": .string(error.endpoint.rawValue), "environment": .string(place.environment.text),
      "cause": .failure(error), "correlation": .text(error.correlation.label),
    ]
    if CallFailure.needsSomebody(error.kind) {
      log.error("Apple's TLS is refused; appStore.caFile or a proxy may be wrong", fields)
    } else {
      log.info("Apple call failed", fields)
    }
    return .call(error)
  }

  private func observe(_ start: ContinuousClock.Instant, _ endpoint: AppStoreEndpoint, _ result: String) {
    dependencies.metrics.appleCalls.observe(
      (ContinuousClock.now - start).inSeconds, endpoint.rawValue, place.environment.text, result)
    span?.called(endpoint, result, since: start)
  }

  /// Stops the whole fleet's calls to an endpoint, as a 429 asks for: until a time, or for a second.
  ///
  /// The budget then knows how long to wait, and whether a worker may ask the other endpoint before.
  func pause(_ endpoint: AppStoreEndpoint, until time: Int64?) async {
    let wait = Duration.milliseconds(time.map { max(1, $0 - dependencies.now()) } ?? 1000)
    do {
      try await dependencies.budget.pause(place.call, endpoint.rawValue, for: wait)
    } catch {
      log.warning("pause failed", ["cause": .failure(error)])
    }
  }
}
