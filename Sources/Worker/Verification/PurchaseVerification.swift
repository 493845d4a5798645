import AppStore
import Configuration
import EventLoop
import Fleet
import HTTPClient
import Observability
import Purchases

/// Asks Apple about a transaction and checks everything that Apple answers.
///
/// The apps of the publisher are asked one after the other, each in production first and then in the sandbox; where a
/// transaction was found before, it is asked for first.
@LoopActor
struct PurchaseVerification {
  let api: AppStoreServerAPI
  let verifier: SignedDataVerifier
  let store: PurchaseStore
  let metrics: WorkerMetrics
  let settings: AppStoreSettings
  let now: @Sendable () -> Int64
  let log: Log

  /// What an attempt came to, and where Apple knew the transaction.
  struct Finding {
    let outcome: AttemptOutcome
    var route: String?
  }

  func verify(_ transactionId: String, of publisher: Publisher, route: String?) async -> Finding {
    var unauthorized = false
    for place in places(publisher.apps, route: route) {
      var environments = place.environments
      while true {
        let environment = environments.environment
        do throws(Obstacle) {
          let purchase = try await verify(transactionId, of: place.app, in: environment)
          return Finding(outcome: .verified(purchase), route: "\(place.app.bundleId)|\(environment.rawValue)")
        } catch {
          guard case .call(let error) = error else {
            guard case .stop(let outcome) = error else { break }
            return Finding(outcome: outcome)
          }
          if place.app.accepts(.sandbox), environments.moves(after: error) { continue }
          switch error.kind {
          case .unauthorized:
            // Perhaps another app knows it; but without this one's answer nobody can say that no app does.
            log.error("Apple refused the key", ["app": .string(place.app.bundleId), "cause": .failure(error)])
            unauthorized = true
          case .api(let code) where Self.unknown.contains(code): break
          default: return Finding(outcome: await outcome(of: error, place.app, environment))
          }
          break
        }
      }
    }
    return Finding(outcome: unauthorized ? .failed(.unauthorized) : .unknownTransaction)
  }

  // MARK: One app in one environment

  /// Why there is no verified purchase.
  private enum Obstacle: Error {
    case call(AppStoreAPIError)
    case stop(AttemptOutcome)
  }

  private func verify(
    _ transactionId: String, of app: Publisher.App, in environment: AppStoreEnvironment
  ) async throws(Obstacle) -> VerifiedPurchase {
    let credentials = AppCredentials(
      bundleId: app.bundleId, issuerId: app.issuerId, keyId: app.keyId, key: app.privateKey)
    // Only this app and this environment: an answer about any other is not an answer to the question.
    let accepted = AcceptedApps([
      .init(bundleId: app.bundleId, appAppleId: app.appAppleId, environments: [environment])
    ])

    try await takeCall(.transactionInfo, app, environment)
    let info = try await call(.transactionInfo, environment) { () async throws(AppStoreAPIError) in
      try await self.api.transactionInfo(transactionId, in: environment, for: credentials)
    }
    let transaction = try checked(verifier.transaction(info.signedTransactionInfo, expecting: accepted))
    guard transaction.transactionId == transactionId, let original = transaction.originalTransactionId else {
      throw reject("Apple answered about another transaction")
    }
    guard transaction.type == .autoRenewable else { return try purchase(transaction) }

    try await takeCall(.subscriptionStatuses, app, environment)
    let statuses = try await call(.subscriptionStatuses, environment) { () async throws(AppStoreAPIError) in
      try await self.api.subscriptionStatuses(transactionId, in: environment, for: credentials)
    }
    let entries = statuses.data.flatMap { $0.lastTransactions ?? [] }
    guard let entry = entries.first(where: { $0.originalTransactionId == original }) else {
      return try purchase(transaction)
    }
    if let latest = try latest(entry, of: original, expecting: accepted) { return latest }
    return try purchase(transaction)
  }

  /// The purchase by its latest transaction: after a renewal or an upgrade not the one that was registered.
  private func latest(
    _ entry: SubscriptionStatusesResponse.LastTransaction, of original: String, expecting accepted: AcceptedApps
  ) throws(Obstacle) -> VerifiedPurchase? {
    guard let signed = entry.signedTransactionInfo else { return nil }
    let latest = try checked(verifier.transaction(signed, expecting: accepted))
    guard latest.originalTransactionId == original else {
      throw reject("the latest transaction belongs to another purchase")
    }
    var grace: Int64?
    if let signed = entry.signedRenewalInfo {
      grace = try checked(verifier.renewalInfo(signed, belongingTo: latest)).gracePeriodExpiresDate
    }
    return try purchase(latest, grace: grace, isReportedRevoked: entry.status == .revoked)
  }

  private func purchase(
    _ transaction: TransactionPayload, grace: Int64? = nil, isReportedRevoked: Bool = false
  ) throws(Obstacle) -> VerifiedPurchase {
    guard let original = transaction.originalTransactionId, let product = transaction.productId,
      let environment = transaction.environment, let date = transaction.purchaseDate
    else { throw reject("the transaction lacks a field that decides") }
    let kind: VerifiedPurchase.Kind
    switch transaction.type {
    case .some(.autoRenewable): kind = .autoRenewable
    case .some(.nonRenewing): kind = .nonRenewing
    case .some(.nonConsumable): kind = .nonConsumable
    case .some(.consumable): kind = .consumable
    // What a product of an unknown type gives, nobody can know; so it gives nothing.
    default: throw reject("the product's type is unknown")
    }
    return VerifiedPurchase(
      kind: kind, originalTransactionId: original, productId: product, environment: environment.rawValue,
      purchaseDate: date, expiresDate: transaction.expiresDate, gracePeriodExpiresDate: grace,
      revocationDate: transaction.revocationDate, isReportedRevoked: isReportedRevoked)
  }

  private func checked<Payload>(_ verdict: Verdict<Payload>) throws(Obstacle) -> Payload {
    switch verdict {
    case .accepted(let payload): return payload
    case .tryLater(let rejection):
      log.warning("verification postponed", ["cause": .text(rejection)])
      throw .stop(.failed(.tryLater))
    case .rejected(let rejection):
      log.warning("verification failed", ["cause": .text(rejection)])
      metrics.rejections.count(rejection.reason.rawValue)
      let isOtherApp = rejection.reason == .bundleIdMismatch || rejection.reason == .appAppleIdMismatch
      throw .stop(.rejected(isOtherApp ? .appMismatch : .verificationFailed))
    }
  }

  private func reject(_ cause: String) -> Obstacle {
    log.warning("verification failed", ["cause": .string(cause)])
    metrics.rejections.count("answer_mismatch")
    return .stop(.rejected(.verificationFailed))
  }

  // MARK: Calls

  /// Takes a call out of the fleet's budget; without one the job waits in a tier, not here.
  private func takeCall(
    _ endpoint: AppStoreEndpoint, _ app: Publisher.App, _ environment: AppStoreEnvironment
  ) async throws(Obstacle) {
    let name = budget(endpoint, app, environment)
    let rate = environment == .production ? settings.callsPerSecond : max(1, settings.callsPerSecond / 10)
    let wait: Duration
    do {
      wait = try await store.takeCall(name, perSecond: rate)
    } catch {
      throw .stop(.postponed(.storeUnavailable, wait: .seconds(1)))
    }
    guard wait == .zero else {
      metrics.budgetWaits.count(endpoint.rawValue)
      throw .stop(.postponed(.budget, wait: wait))
    }
  }

  private func call<Body>(
    _ endpoint: AppStoreEndpoint, _ environment: AppStoreEnvironment,
    _ make: () async throws(AppStoreAPIError) -> AppStoreAnswer<Body>
  ) async throws(Obstacle) -> Body {
    let start = ContinuousClock.now
    do {
      let answer = try await make()
      observe(start, endpoint, environment, "ok")
      log.debug(
        "Apple answered", ["endpoint": .string(endpoint.rawValue), "correlation": .text(answer.correlation.label)])
      return answer.body
    } catch {
      observe(start, endpoint, environment, error.label)
      log.info(
        "Apple call failed",
        [
          "endpoint": .string(endpoint.rawValue), "environment": .string(environment.rawValue),
          "cause": .failure(error), "correlation": .text(error.correlation.label),
        ])
      throw .call(error)
    }
  }

  private func observe(
    _ start: ContinuousClock.Instant, _ endpoint: AppStoreEndpoint, _ environment: AppStoreEnvironment,
    _ outcome: String
  ) {
    metrics.appleCalls.observe(
      (ContinuousClock.now - start).inSeconds, endpoint.rawValue, environment.rawValue, outcome)
  }

  /// What a failed call means for the attempt; a 429 stops the whole fleet's calls to the endpoint.
  private func outcome(
    of error: AppStoreAPIError, _ app: Publisher.App, _ environment: AppStoreEnvironment
  ) async -> AttemptOutcome {
    switch error.kind {
    case .rateLimited(let until):
      let wait = Duration.milliseconds(until.map { max(1, $0 - now()) } ?? 1000)
      do {
        try await store.pause(budget(error.endpoint, app, environment), for: wait)
      } catch {
        log.warning("pause failed", ["cause": .failure(error)])
      }
      return .failed(.rateLimited, wait: wait)
    case .transport(let cause):
      switch cause.code {
      case .timeout: return .failed(.timeout)
      case .responseTooLarge: return .failed(.malformedAnswer)
      default: return .failed(.network)
      }
    case .malformedAnswer: return .failed(.malformedAnswer)
    default: return .failed(.appleError)
    }
  }

  private func budget(
    _ endpoint: AppStoreEndpoint, _ app: Publisher.App, _ environment: AppStoreEnvironment
  ) -> BudgetName {
    BudgetName(bundleId: app.bundleId, environment: environment.rawValue, endpoint: endpoint.rawValue)
  }

  /// Apple's ways to say that it does not know an id.
  private static let unknown: Set<AppStoreErrorCode> = [
    .transactionIdNotFound, .originalTransactionIdNotFound, .invalidTransactionId, .invalidOriginalTransactionId,
  ]

  // MARK: Where to ask

  private func places(
    _ apps: [Publisher.App], route: String?
  ) -> [(app: Publisher.App, environments: EnvironmentRoute)] {
    let all = apps.map { ($0, $0.accepts(.production) ? EnvironmentRoute() : EnvironmentRoute(known: .sandbox)) }
    let words = (route ?? "").split(separator: "|").map(String.init)
    let known = AppStoreEnvironment(rawValue: words.last ?? "")
    // The publisher may have changed its mind about the environment since.
    guard words.count == 2, let app = apps.first(where: { $0.bundleId == words[0] }), app.accepts(known) else {
      return all
    }
    return [(app, EnvironmentRoute(known: known))] + all
  }
}

extension Publisher.App {
  fileprivate func accepts(_ environment: AppStoreEnvironment) -> Bool { environments.contains(environment.rawValue) }
}

extension AppleCorrelation {
  /// Apple's ids of a call, for its support.
  fileprivate var label: String { [requestUUID, jingleCorrelationKey].compactMap(\.self).joined(separator: " ") }
}

extension AppStoreAPIError {
  /// The failure as a metric's label: a small closed set.
  fileprivate var label: String {
    switch kind {
    case .api(let code): code.name ?? "unknown_code"
    case .http(let status): "http_\(status / 100)xx"
    case .unauthorized: "unauthorized"
    case .rateLimited: "rate_limited"
    case .transport(let error): error.code.rawValue
    case .malformedAnswer: "malformed_answer"
    case .invalidRequest: "invalid_request"
    }
  }
}
