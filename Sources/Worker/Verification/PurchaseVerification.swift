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
final class PurchaseVerification {
  let worker: Worker
  private let transactionId: String
  let log: Log
  /// Where Apple is being asked.
  private(set) var place: AppPlace
  /// Where it is asked after that.
  private var places: ArraySlice<AppPlace>
  /// The call that was taken out of its budget together with the lease.
  private var grant: CallGrant?
  /// The purchase's original transaction, where a verified answer has told it before.
  private(set) var original: String?
  /// What Apple has answered, this run or the one that waited before it.
  private(set) var answers: KeptAnswers
  /// Whether Apple knows of no subscription of the customer's; which proves nothing.
  private var areStatusesUnknown = false

  /// What an attempt came to, and where Apple knew the transaction.
  final class Finding: Sendable {
    let outcome: AttemptOutcome
    let route: String?
    /// Whether Apple has said all of it just now, so that it holds for other registrations, too.
    let isFresh: Bool

    init(outcome: AttemptOutcome, route: String? = nil, isFresh: Bool = true) {
      (self.outcome, self.route, self.isFresh) = (outcome, route, isFresh)
    }
  }

  /// Both can prove an active subscription, and only the first one any other purchase.
  static let endpoints: [AppStoreEndpoint] = [.transactionInfo, .subscriptionStatuses]
  static let endpointNames = endpoints.map(\.rawValue)

  /// Prepares to ask; `nil` when there is nowhere to ask.
  ///
  /// - Parameters:
  ///   - route: where the transaction was known the last time.
  ///   - grant: the first call, if one was taken out of its budget already.
  init?(
    of job: Job, attempt: Int, at places: [AppPlace], route: String?, grant: CallGrant?, by worker: Worker, _ log: Log
  ) {
    let route = route.flatMap(Route.init)
    // The publisher may have changed its mind about the environment since.
    let known = places.firstIndex { $0.call.name == route?.place }
    guard let first = known ?? places.indices.first else { return nil }
    place = places[first]
    var answers: KeptAnswers?
    if known != nil, let route {
      original = route.original
      answers = route.answers.flatMap {
        KeptAnswers($0, of: job.synchronizationId, attempt: attempt, now: worker.context.now())
      }
    }
    self.answers = answers ?? KeptAnswers(of: job.synchronizationId, attempt: attempt)
    let passed = answers?.passed ?? []
    self.places = places.filter { [place] in $0 !== place && !passed.contains($0.call.name) }[...]
    transactionId = job.transactionId
    self.grant = grant
    self.worker = worker
    self.log = log
  }

  /// Asks in one place after the other.
  func finding() async -> Finding {
    repeat {
      if let finding = await ask(takeGrant()) { return finding }
    } while moveOn()
    return Finding(outcome: answers.isUnauthorized ? .failed(.unauthorized) : .unknownTransaction)
  }

  /// The endpoint that may be asked at once.
  private func takeGrant() -> AppStoreEndpoint? {
    guard let grant, grant.place == place.call.name else { return nil }
    self.grant = nil
    return AppStoreEndpoint(rawValue: grant.endpoint)
  }

  private func moveOn() -> Bool {
    guard let next = places.popFirst() else { return false }
    answers.pass(place.call.name, at: worker.context.now())
    (place, original, areStatusesUnknown) = (next, nil, false)
    return true
  }

  // What a suspended function may need again is memory of each of the thousands of jobs in flight: errors, and what becomes
  // of them, are in functions of their own.

  /// Asks in the present place; `nil` when the next one is to be asked.
  private func ask(_ granted: AppStoreEndpoint?) async -> Finding? {
    do throws(Obstacle) {
      return try await verify(granted)
    } catch {
      return await finding(behind: error)
    }
  }

  @inline(never)
  private func finding(behind obstacle: Obstacle) async -> Finding? {
    switch obstacle {
    case .stop(.rejected, _) where answers.areEarlier:
      // What lay in Redis may have been damaged there; Apple decides.
      return Finding(outcome: .failed(.malformedAnswer), route: Route(place: place.call.name).text)
    case .stop(let outcome, let route): return Finding(outcome: outcome, route: route?.text)
    case .call(let error):
      switch error.kind {
      case .unauthorized where answers.missing != nil:
        // It was right for the other endpoint just now.
        return Finding(outcome: .failed(.unauthorized), route: unfinished(answers.missing).text)
      case .unauthorized:
        // Production knows nothing of an app that was never released; the sandbox is asked next.
        if place.environment == .production, place.app.environments.contains("Sandbox") { return nil }
        // Perhaps another app knows it; but without this one's answer nobody can say that no app does.
        log.error("Apple refused the key", ["app": .string(place.app.bundleId), "cause": .failure(error)])
        answers.isUnauthorized = true
        return nil
      case .api(let code) where Self.unknown.contains(code): return nil
      default: return Finding(outcome: await outcome(of: error), route: answers.missing.map { unfinished($0).text })
      }
    }
  }

  // MARK: One app in one environment

  /// Why there is no verified purchase.
  indirect enum Obstacle: Error {
    case call(AppStoreAPIError)
    case stop(AttemptOutcome, route: Route? = nil)
  }

  /// Asks once where that is enough: Get Transaction Info proves everything but a subscription that has been renewed,
  /// upgraded or ended since, and Get All Subscription Statuses a subscription that it names.
  private func verify(_ granted: AppStoreEndpoint?) async throws(Obstacle) -> Finding {
    var endpoint = granted
    if endpoint == nil { endpoint = try await takeCall(answers.missing.map { [$0] } ?? Self.endpoints) }
    if endpoint == .subscriptionStatuses {
      if let finding = try latest(in: try await askForStatuses() ?? []) { return finding }
      // The customer's subscriptions do not name this transaction: it is an older one of theirs, or none of them.
    }
    switch try judge(try await signedTransaction(isGranted: endpoint == .transactionInfo)) {
    case .proven(let finding): return finding
    case .doubtful(let transaction): return try await resolve(transaction)
    }
  }

  /// What Get Transaction Info has proven.
  private enum Judgement {
    case proven(Finding)
    case doubtful(Transaction)
  }

  /// A verified transaction that does not prove access by itself; an object, as its forty fields would be memory of every
  /// suspended function that they pass.
  private final class Transaction {
    let payload: TransactionPayload
    let original: String

    init(_ payload: TransactionPayload, _ original: String) { (self.payload, self.original) = (payload, original) }
  }

  @inline(never)
  private func judge(_ signed: String) throws(Obstacle) -> Judgement {
    let transaction = try checked(worker.verifier.transaction(signed, expecting: place.accepted))
    guard transaction.transactionId == transactionId, let original = transaction.originalTransactionId else {
      throw reject("Apple answered about another transaction")
    }
    guard transaction.type == .autoRenewable, !isCurrent(transaction) else {
      return .proven(try purchase(transaction))
    }
    return .doubtful(Transaction(transaction, original))
  }

  /// Concludes by the statuses, which are asked for unless they were before.
  @inline(never)
  private func resolve(_ transaction: Transaction) async throws(Obstacle) -> Finding {
    original = transaction.original
    if let statuses = answers.statuses, let finding = try conclude(transaction, statuses) { return finding }
    // Where Apple's index is behind, asking again at once gets the same answer.
    guard !areStatusesUnknown, answers.statuses == nil || answers.earlierStatusesAt != nil else { throw tryLater() }
    try await takeCall([.subscriptionStatuses])
    guard let statuses = try await askForStatuses(), let finding = try conclude(transaction, statuses) else {
      throw tryLater()
    }
    return finding
  }

  /// What the statuses say of a transaction; `nil` when only later ones can tell.
  private func conclude(
    _ transaction: Transaction, _ statuses: KeptAnswers.Statuses
  ) throws(Obstacle) -> Finding? {
    if let entry = statuses.first(where: { $0.originalTransactionId == transaction.original }),
      let latest = try latest(entry, of: transaction.original)
    {
      return hasEndedSince(latest) ? nil : latest
    }
    // Of what came after an upgrade the transaction knows nothing.
    return transaction.payload.isUpgraded == true ? nil : try purchase(transaction.payload)
  }

  /// Whether a subscription has ended while its statuses were kept, so that Apple may have renewed it since.
  private func hasEndedSince(_ finding: Finding) -> Bool {
    guard let then = answers.earlierStatusesAt, case .verified(let purchase) = finding.outcome else { return false }
    return Entitlement.hasEnded(purchase, now: worker.context.now())
      && !Entitlement.hasEnded(purchase, now: then)
  }

  /// Whether a subscription's transaction proves access by itself.
  private func isCurrent(_ transaction: TransactionPayload) -> Bool {
    transaction.revocationDate == nil && transaction.isUpgraded != true
      && (transaction.expiresDate ?? 0) > worker.context.now()
  }

  /// Returns the transaction that an earlier run was told, or asks for it.
  ///
  /// - Parameter isGranted: whether the call was taken out of its budget already.
  @inline(never)
  private func signedTransaction(isGranted: Bool) async throws(Obstacle) -> String {
    if !isGranted {
      if let kept = answers.transaction { return kept }
      try await takeCall([.transactionInfo])
    }
    let start = ContinuousClock.now
    do throws(AppStoreAPIError) {
      let answer = try await worker.api.transactionInfo(
        transactionId, in: place.environment, for: place.credentials)
      let signed = succeeded(answer, .transactionInfo, since: start).signedTransactionInfo
      answers.told(transaction: signed, at: worker.context.now())
      return signed
    } catch {
      throw failed(error, since: start)
    }
  }

  /// Returns the customer's subscriptions; `nil` when Apple knows of none, which proves nothing.
  @inline(never)
  private func askForStatuses() async throws(Obstacle) -> KeptAnswers.Statuses? {
    let start = ContinuousClock.now
    var statuses: KeptAnswers.Statuses?
    do throws(AppStoreAPIError) {
      let answer = try await worker.api.subscriptionStatuses(
        transactionId, in: place.environment, for: place.credentials)
      statuses = succeeded(answer, .subscriptionStatuses, since: start).data.flatMap { $0.lastTransactions ?? [] }
    } catch {
      let obstacle = failed(error, since: start)
      guard case .api(let code) = error.kind, Self.unknown.contains(code) else { throw obstacle }
    }
    areStatusesUnknown = statuses == nil
    answers.told(statuses: statuses, at: worker.context.now())
    return statuses
  }

  /// The subscription whose first or latest transaction is the one in question; an answer holds all of a customer's.
  @inline(never)
  private func latest(
    in entries: [SubscriptionStatusesResponse.LastTransaction]
  ) throws(Obstacle) -> Finding? {
    for entry in entries {
      if let named = entry.originalTransactionId, named == original ?? transactionId || named == transactionId {
        return try latest(entry, of: named)
      }
      // Only to choose the entry; what it says is believed when it is verified.
      guard let signed = entry.signedTransactionInfo, let original = entry.originalTransactionId,
        case .object(let claimed)? = SignedDataVerifier.unverifiedPayload(of: signed),
        claimed["transactionId"] == .string(transactionId)
      else { continue }
      return try latest(entry, of: original)
    }
    return nil
  }

  /// The purchase by its latest transaction: after a renewal or an upgrade not the one that was registered.
  private func latest(
    _ entry: SubscriptionStatusesResponse.LastTransaction, of original: String
  ) throws(Obstacle) -> Finding? {
    guard let signed = entry.signedTransactionInfo else { return nil }
    let latest = try checked(worker.verifier.transaction(signed, expecting: place.accepted))
    guard latest.originalTransactionId == original else {
      throw reject("the latest transaction belongs to another purchase")
    }
    var grace: Int64?
    if let signed = entry.signedRenewalInfo {
      grace = try checked(worker.verifier.renewalInfo(signed, belongingTo: latest)).gracePeriodExpiresDate
    }
    return try purchase(latest, grace: grace, isReportedRevoked: entry.status == .revoked)
  }

  /// The purchase that a verified transaction describes.
  @inline(never)
  private func purchase(
    _ transaction: TransactionPayload, grace: Int64? = nil, isReportedRevoked: Bool = false
  ) throws(Obstacle) -> Finding {
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
    let purchase = VerifiedPurchase(
      kind: kind, originalTransactionId: original, productId: product, environment: environment.rawValue,
      purchaseDate: date, expiresDate: transaction.expiresDate, gracePeriodExpiresDate: grace,
      revocationDate: transaction.revocationDate, isReportedRevoked: isReportedRevoked)
    let only = kind == .autoRenewable ? nil : AppStoreEndpoint.transactionInfo.rawValue
    return Finding(
      outcome: .verified(purchase), route: Route(place: place.call.name, endpoint: only).text,
      isFresh: answers.earlierStatusesAt == nil)
  }

  private func checked<Payload>(_ verdict: Verdict<Payload>) throws(Obstacle) -> Payload {
    switch verdict {
    case .accepted(let payload): return payload
    case .tryLater(let rejection):
      log.warning("verification postponed", ["cause": .text(rejection)])
      throw tryLater()
    case .rejected(let rejection):
      log.warning("verification failed", ["cause": .text(rejection)])
      worker.metrics.rejections.count(rejection.reason.rawValue)
      let isOtherApp = rejection.reason == .bundleIdMismatch || rejection.reason == .appAppleIdMismatch
      throw .stop(.rejected(isOtherApp ? .appMismatch : .verificationFailed))
    }
  }

  /// What Apple has answered does not settle it: the next attempt asks anew.
  private func tryLater() -> Obstacle {
    .stop(.failed(.tryLater), route: Route(place: place.call.name, original: original))
  }

  private func reject(_ cause: String) -> Obstacle {
    log.warning("verification failed", ["cause": .string(cause)])
    worker.metrics.rejections.count("answer_mismatch")
    return .stop(.rejected(.verificationFailed))
  }
}
