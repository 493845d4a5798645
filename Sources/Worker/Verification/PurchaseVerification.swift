import AppStore
import Configuration
import EventLoop
import Fleet
import HTTPClient
import JSON
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

  /// Both can prove an active subscription, and only the first one any other purchase.
  static let endpoints = [AppStoreEndpoint.transactionInfo, .subscriptionStatuses].map(\.rawValue)

  /// - Parameter grant: the first call, if one was taken out of its budget already.
  func verify(
    _ transactionId: String, of publisher: Publisher, route: String?, grant: CallGrant?
  ) async -> Finding {
    let route = route.flatMap(Route.init)
    var unauthorized = false
    var unused = grant
    for (app, environment) in order(publisher.apps, route) {
      let place = Self.place(app, environment, settings)
      let isKnown = route?.place == place.name
      let question = Question(
        transactionId: transactionId, app: app, environment: environment, place: place,
        original: isKnown ? route?.original : nil)
      var granted: AppStoreEndpoint?
      if let grant = unused, grant.place == place.name {
        granted = AppStoreEndpoint(rawValue: grant.endpoint)
        unused = nil
      }
      do throws(Obstacle) {
        let purchase = try await verify(question, granted: granted)
        let only = purchase.kind == .autoRenewable ? nil : AppStoreEndpoint.transactionInfo.rawValue
        return Finding(outcome: .verified(purchase), route: Route(place: place.name, endpoint: only).text)
      } catch {
        switch error {
        case .stop(let outcome, let route): return Finding(outcome: outcome, route: route?.text)
        case .call(let error):
          switch error.kind {
          case .unauthorized:
            // Production knows nothing of an app that was never released; the sandbox is asked next.
            if environment == .production, app.accepts(.sandbox) { continue }
            // Perhaps another app knows it; but without this one's answer nobody can say that no app does.
            log.error("Apple refused the key", ["app": .string(app.bundleId), "cause": .failure(error)])
            unauthorized = true
          case .api(let code) where Self.unknown.contains(code): continue
          default: return Finding(outcome: await outcome(of: error, question))
          }
        }
      }
    }
    return Finding(outcome: unauthorized ? .failed(.unauthorized) : .unknownTransaction)
  }

  // MARK: One app in one environment

  /// Why there is no verified purchase.
  private enum Obstacle: Error {
    case call(AppStoreAPIError)
    case stop(AttemptOutcome, route: Route? = nil)
  }

  /// What Apple is asked.
  private struct Question {
    let transactionId: String
    let app: Publisher.App
    let environment: AppStoreEnvironment
    let place: CallPlace
    /// The purchase's original transaction, where a verified answer has told it before.
    let original: String?

    var credentials: AppCredentials {
      AppCredentials(bundleId: app.bundleId, issuerId: app.issuerId, keyId: app.keyId, key: app.privateKey)
    }
    /// Only this app and this environment: an answer about any other is not an answer to the question.
    var accepted: AcceptedApps {
      AcceptedApps([.init(bundleId: app.bundleId, appAppleId: app.appAppleId, environments: [environment])])
    }
  }

  /// Asks once where that is enough: Get Transaction Info proves everything but a subscription that has been renewed,
  /// upgraded or ended since, and Get All Subscription Statuses a subscription that it names.
  private func verify(
    _ question: Question, granted: AppStoreEndpoint?
  ) async throws(Obstacle) -> VerifiedPurchase {
    var statuses: [SubscriptionStatusesResponse.LastTransaction]?
    var endpoint = granted
    if endpoint == nil { endpoint = try await takeCall(Self.endpoints, question) }
    if endpoint == .subscriptionStatuses {
      statuses = try await askForStatuses(question)
      if let purchase = try latest(in: statuses ?? [], naming: question) { return purchase }
      // The customer's subscriptions do not name this transaction: it is an older one of theirs, or none of them.
      try await takeCall([AppStoreEndpoint.transactionInfo.rawValue], question)
    }
    let info = try await call(.transactionInfo, question) { () async throws(AppStoreAPIError) in
      try await self.api.transactionInfo(
        question.transactionId, in: question.environment, for: question.credentials)
    }
    let transaction = try checked(verifier.transaction(info.signedTransactionInfo, expecting: question.accepted))
    guard transaction.transactionId == question.transactionId, let original = transaction.originalTransactionId else {
      throw reject("Apple answered about another transaction")
    }
    guard transaction.type == .autoRenewable, !isCurrent(transaction) else { return try purchase(transaction) }

    if statuses == nil {
      try await takeCall([AppStoreEndpoint.subscriptionStatuses.rawValue], question, original: original)
      statuses = try await askForStatuses(question)
    }
    if let entry = statuses?.first(where: { $0.originalTransactionId == original }),
      let latest = try latest(entry, of: original, question)
    {
      return latest
    }
    // Of what came after an upgrade, or where Apple's index is behind, only the statuses can tell.
    guard statuses != nil, transaction.isUpgraded != true else { throw .stop(.failed(.tryLater)) }
    return try purchase(transaction)
  }

  /// Whether a subscription's transaction proves access by itself.
  private func isCurrent(_ transaction: TransactionPayload) -> Bool {
    transaction.revocationDate == nil && transaction.isUpgraded != true && (transaction.expiresDate ?? 0) > now()
  }

  /// Returns the customer's subscriptions; `nil` when Apple knows of none, which proves nothing.
  private func askForStatuses(
    _ question: Question
  ) async throws(Obstacle) -> [SubscriptionStatusesResponse.LastTransaction]? {
    do {
      let answer = try await call(.subscriptionStatuses, question) { () async throws(AppStoreAPIError) in
        try await self.api.subscriptionStatuses(
          question.transactionId, in: question.environment, for: question.credentials)
      }
      return answer.data.flatMap { $0.lastTransactions ?? [] }
    } catch {
      if case .call(let error) = error, case .api(let code) = error.kind, Self.unknown.contains(code) { return nil }
      throw error
    }
  }

  /// The subscription whose first or latest transaction is the one in question; an answer holds all of a customer's.
  private func latest(
    in entries: [SubscriptionStatusesResponse.LastTransaction], naming question: Question
  ) throws(Obstacle) -> VerifiedPurchase? {
    for entry in entries {
      if let original = entry.originalTransactionId,
        original == question.original ?? question.transactionId || original == question.transactionId
      {
        return try latest(entry, of: original, question)
      }
      // Only to choose the entry; what it says is believed when it is verified.
      guard let signed = entry.signedTransactionInfo, let original = entry.originalTransactionId,
        case .object(let claimed)? = SignedDataVerifier.unverifiedPayload(of: signed),
        claimed["transactionId"] == .string(question.transactionId)
      else { continue }
      return try latest(entry, of: original, question)
    }
    return nil
  }

  /// The purchase by its latest transaction: after a renewal or an upgrade not the one that was registered.
  private func latest(
    _ entry: SubscriptionStatusesResponse.LastTransaction, of original: String, _ question: Question
  ) throws(Obstacle) -> VerifiedPurchase? {
    guard let signed = entry.signedTransactionInfo else { return nil }
    let latest = try checked(verifier.transaction(signed, expecting: question.accepted))
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
  @discardableResult
  private func takeCall(
    _ endpoints: [String], _ question: Question, original: String? = nil
  ) async throws(Obstacle) -> AppStoreEndpoint? {
    let answer: CallAnswer
    do {
      answer = try await store.takeCall(question.place, endpoints)
    } catch {
      throw .stop(.postponed(.storeUnavailable, wait: .seconds(1)))
    }
    switch answer {
    case .granted(let grant): return AppStoreEndpoint(rawValue: grant.endpoint)
    case .wait(let wait):
      metrics.budgetWaits.count()
      // Who needs one endpoint asks for that one the next time, and knows what to look for, so that each round has less to ask.
      let only = endpoints.count == 1 ? endpoints[0] : nil
      throw .stop(
        .postponed(.budget, wait: wait), route: Route(place: question.place.name, endpoint: only, original: original))
    }
  }

  private func call<Body>(
    _ endpoint: AppStoreEndpoint, _ question: Question,
    _ make: () async throws(AppStoreAPIError) -> AppStoreAnswer<Body>
  ) async throws(Obstacle) -> Body {
    let start = ContinuousClock.now
    do {
      let answer = try await make()
      observe(start, endpoint, question.environment, "ok")
      log.debug(
        "Apple answered", ["endpoint": .string(endpoint.rawValue), "correlation": .text(answer.correlation.label)])
      return answer.body
    } catch {
      observe(start, endpoint, question.environment, error.label)
      log.info(
        "Apple call failed",
        [
          "endpoint": .string(endpoint.rawValue), "environment": .string(question.environment.rawValue),
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
  private func outcome(of error: AppStoreAPIError, _ question: Question) async -> AttemptOutcome {
    switch error.kind {
    case .rateLimited(let until):
      let wait = Duration.milliseconds(until.map { max(1, $0 - now()) } ?? 1000)
      do {
        try await store.pause(question.place, error.endpoint.rawValue, for: wait)
      } catch {
        log.warning("pause failed", ["cause": .failure(error)])
      }
      // The budget knows how long to wait, and whether the other endpoint may be asked before.
      return .failed(.rateLimited)
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

  /// Apple's ways to say that it does not know an id.
  private static let unknown: Set<AppStoreErrorCode> = [
    .transactionIdNotFound, .originalTransactionIdNotFound, .invalidTransactionId, .invalidOriginalTransactionId,
  ]

  // MARK: Where to ask

  /// Where a publisher's transactions may be known, the first choice first.
  static func places(_ publisher: Publisher, _ settings: AppStoreSettings) -> [CallPlace] {
    publisher.apps.flatMap { app in
      [AppStoreEnvironment.production, .sandbox].filter(app.accepts).map { place(app, $0, settings) }
    }
  }

  private static func place(
    _ app: Publisher.App, _ environment: AppStoreEnvironment, _ settings: AppStoreSettings
  ) -> CallPlace {
    let rate = environment == .production ? settings.callsPerSecond : max(1, settings.callsPerSecond / 10)
    return CallPlace(bundleId: app.bundleId, environment: environment.rawValue, perSecond: rate)
  }

  /// Every app in production and then in the sandbox; before them where the transaction is known.
  private func order(_ apps: [Publisher.App], _ route: Route?) -> [(Publisher.App, AppStoreEnvironment)] {
    let all = apps.flatMap { app in
      [AppStoreEnvironment.production, .sandbox].filter(app.accepts).map { (app, $0) }
    }
    // The publisher may have changed its mind about the environment since.
    guard let known = all.firstIndex(where: { Self.place($0.0, $0.1, settings).name == route?.place }) else {
      return all
    }
    return [all[known]] + all[..<known] + all[(known + 1)...]
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
