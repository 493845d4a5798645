import AppStore
import Coordination
import Domain
import EventLoop
import Observability

/// One call of Send Consumption Information.
@LoopActor
struct RefundCall {
  let request: RefundRequest
  let answer: ConsumptionAnswer
  /// Where to call; `nil` if the publisher's file has no such app.
  let place: AppPlace?
  let verification: PurchaseVerification.Dependencies
  let log: Log

  /// Without the app somebody must mend the publisher's file. It is looked at again after so many milliseconds.
  private static let pauseWithoutApp: Int64 = 60_000

  /// Takes a call out of the budget, and makes it.
  func run() async -> RefundRequest.CallResult {
    guard let place else {
      log.warning("no app to answer with", ["bundleId": .string(request.bundleId.text)])
      return .postponed("no_app", until: verification.now() + Self.pauseWithoutApp)
    }
    if let wait = place.admit(at: verification.now()) {
      return .postponed(
        RetryCause.unauthorized.rawValue, until: verification.now() + Int64(wait.wholeMilliseconds))
    }
    if let obstacle = await takeCall(at: place) { return obstacle }
    let start = ContinuousClock.now
    do throws(AppStoreAPIError) {
      let correlation = try await verification.api.sendConsumption(
        answer, about: request.transactionId, in: place.environment, for: place.credentials)
      observe(start, "ok", at: place)
      place.accepted(at: verification.now(), log)
      log.info("sent the consumption to Apple", ["correlation": .text(correlation.label)])
      return .sent
    } catch {
      observe(start, error.label, at: place)
      let fields: KeyValuePairs<String, Log.Value> = [
        "cause": .failure(error), "correlation": .text(error.correlation.label),
      ]
      log.warning("Apple did not accept the answer about a refund", fields)
      if case .rateLimited(let time) = error.kind { return await pause(until: time, at: place) }
      return await judge(error, at: place)
    }
  }

  /// Decides whether a failed call is about the key or about the answer. What Apple says about the key counts for all
  /// calls for the app (decision 0037).
  private func judge(_ error: AppStoreAPIError, at place: AppPlace) async -> RefundRequest.CallResult {
    let now = verification.now()
    if CallFailure.provesKey(error.kind) { place.accepted(at: now, log) }
    var meaning = CallFailure.of(
      error.kind, in: place.environment, for: place.app, hasAnswer: false,
      isAccepted: place.standing.value.isAccepted(at: now))
    if meaning == .doubtful {
      meaning = await place.askWithoutId(verification, log)
      // Nobody knows yet whether the id is invalid.
      if case .failed = meaning { return .failed(error.label) }
    }
    guard meaning == .keyRefused else { return Self.result(of: error) }
    place.refused(by: error, at: verification.now(), log)
    return .failed(error.label)
  }

  /// Decides what a failed call means for the answer.
  ///
  /// Apple's codes from 4000000 on say that this answer will never be taken, for example because the product's type has
  /// none (4000047). Everything else may pass: the key may be mended, and a transaction that Apple does not know may be
  /// late in its index, since Apple itself has asked about it.
  static func result(of error: AppStoreAPIError) -> RefundRequest.CallResult {
    if case .api(let code) = error.kind, code.rawValue / 10_000 == 400 { return .refused(error.label) }
    return .failed(error.label)
  }

  // MARK: Budget

  /// It does not wait for the budget: the customer may withdraw the consent meanwhile. The next look reads it again.
  private func takeCall(at place: AppPlace) async -> RefundRequest.CallResult? {
    guard
      let answer = try? await verification.budget.takeCall(
        place.consumption, only: AppStoreEndpoint.consumption.rawValue, .awaited)
    else { return .postponed("store_unavailable", until: verification.now() + 1000) }
    guard case .wait(let wait) = answer else { return nil }
    return .postponed("budget", until: verification.now() + Int64(wait.wholeMilliseconds))
  }

  /// Stops the whole fleet's calls to the endpoint, as a 429 asks for: until a time, or for a second.
  private func pause(until time: Int64?, at place: AppPlace) async -> RefundRequest.CallResult {
    let wait = time.map { max(1, $0 - verification.now()) } ?? 1000
    do {
      try await verification.budget.pause(
        place.consumption, AppStoreEndpoint.consumption.rawValue, for: .milliseconds(wait))
    } catch {
      log.warning("pause failed", ["cause": .failure(error)])
    }
    return .postponed("rate_limited", until: verification.now() + wait)
  }

  private func observe(_ start: ContinuousClock.Instant, _ outcome: String, at place: AppPlace) {
    verification.metrics.appleCalls.observe(
      (ContinuousClock.now - start).inSeconds, AppStoreEndpoint.consumption.rawValue, place.environment.text,
      outcome)
  }
}
