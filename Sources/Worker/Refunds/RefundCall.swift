import AppStore
import Domain
import EventLoop
import Observability
import Store

/// One call of Send Consumption Information.
@LoopActor
struct RefundCall {
  let request: RefundRequest
  let answer: ConsumptionAnswer
  let place: AppPlace
  let verification: PurchaseVerification.Dependencies
  let log: Log

  /// How long a call waits for its budget before it gives its place to another.
  private static let patience = Duration.seconds(5)

  /// Takes a call out of the budget, and makes it.
  func run() async -> RefundRequest.Outcome {
    if let obstacle = await takeCall() { return obstacle }
    let start = ContinuousClock.now
    do throws(AppStoreAPIError) {
      let correlation = try await verification.api.sendConsumption(
        answer, about: request.transactionId, in: place.environment, for: place.credentials)
      observe(start, "ok")
      log.info("told Apple about the consumption", ["correlation": .text(correlation.label)])
      return .sent
    } catch {
      observe(start, error.label)
      let fields: KeyValuePairs<String, Log.Value> = [
        "cause": .failure(error), "correlation": .text(error.correlation.label),
      ]
      log.warning("Apple did not take the answer about a refund", fields)
      if case .rateLimited(let time) = error.kind { return await pause(until: time) }
      return Self.outcome(of: error)
    }
  }

  /// Decides what a failed call means.
  ///
  /// Apple's codes from 4000000 on say that this answer will never be taken, for example because the product's type has
  /// none (4000047). Everything else may pass: the key may be mended, and a transaction that Apple does not know may be
  /// late in its index, since Apple itself has asked about it.
  static func outcome(of error: AppStoreAPIError) -> RefundRequest.Outcome {
    if case .api(let code) = error.kind, code.rawValue / 10_000 == 400 { return .refused(error.label) }
    return .failed(error.label)
  }

  // MARK: Budget

  private func takeCall() async -> RefundRequest.Outcome? {
    let end = ContinuousClock.now + Self.patience
    while true {
      guard
        let answer = try? await verification.budget.takeCall(
          place.consumption, only: AppStoreEndpoint.consumption.rawValue)
      else { return .postponed("store_unavailable", until: verification.now() + 1000) }
      guard case .wait(let wait) = answer else { return nil }
      guard .now + wait < end, (try? await EventLoop.sleep(for: wait)) != nil else {
        return .postponed("budget", until: verification.now() + Int64(wait / .milliseconds(1)))
      }
    }
  }

  /// Stops the whole fleet's calls to the endpoint, as a 429 asks for: until a time, or for a second.
  private func pause(until time: Int64?) async -> RefundRequest.Outcome {
    let wait = time.map { max(1, $0 - verification.now()) } ?? 1000
    do {
      try await verification.budget.pause(
        place.consumption, AppStoreEndpoint.consumption.rawValue, for: .milliseconds(wait))
    } catch {
      log.warning("pause failed", ["cause": .failure(error)])
    }
    return .postponed("rate_limited", until: verification.now() + wait)
  }

  private func observe(_ start: ContinuousClock.Instant, _ outcome: String) {
    verification.metrics.appleCalls.observe(
      (ContinuousClock.now - start).inSeconds, AppStoreEndpoint.consumption.rawValue, place.environment.rawValue,
      outcome)
  }
}
