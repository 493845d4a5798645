import AppStore
import Coordination
import Domain
import EventLoop
import Formats
import JSON
import Ledger
import Observability

/// Asks Apple about a transaction and checks everything that Apple answers.
///
/// It asks for the publisher's apps one after the other, each in production first and then in the sandbox. If an
/// earlier run found the transaction in some place, it asks there first.
@LoopActor
final class PurchaseVerification {
  let dependencies: Dependencies
  let publisherId: PublisherId
  let transactionId: TransactionId
  let log: Log
  /// The span of the run that asks.
  let span: JobSpan?
  /// The place that the verification asks now.
  private(set) var place: AppPlace
  /// The places that it asks after that.
  private var places: ArraySlice<AppPlace>
  /// The call that Redis took out of its budget together with the lease.
  private var grant: CallPermit?
  /// The purchase's original transaction, if an earlier verified answer named it.
  private(set) var original: OriginalTransactionId?
  /// Apple's answers to this run, or to the run that waited before it.
  var answers: KeptAnswers
  /// Whether somebody waits for the answers.
  let urgency: CallUrgency
  /// How long to wait because Apple refuses the key of an app.
  private var wait: Duration?

  /// One try: its result, and the place where Apple knew the transaction.
  final class Attempt: Sendable {
    let result: AttemptResult
    /// What Apple has signed about the purchase; empty unless the result is `verified`.
    let evidence: [Evidence]
    /// The fold of this evidence alone.
    let purchase: Purchase?
    let route: AppleRoute?
    /// Whether this run got the statuses behind the result, if any. Then the result covers other registrations, too.
    let isFresh: Bool

    init(
      result: AttemptResult, evidence: [Evidence] = [], purchase: Purchase? = nil, route: AppleRoute? = nil,
      isFresh: Bool = true
    ) {
      (self.result, self.evidence, self.purchase) = (result, evidence, purchase)
      (self.route, self.isFresh) = (route, isFresh)
    }
  }

  /// Both can prove an active subscription. Only the first one proves any other purchase.
  nonisolated static let endpoints = [AppStoreEndpoint.transactionInfo, .subscriptionStatuses]

  /// Prepares to ask; `nil` when there is no place to ask.
  ///
  /// - Parameters:
  ///   - route: where Apple knew the transaction the last time.
  ///   - grant: the first call, if Redis took it out of its budget already.
  convenience init?(
    of job: Job, attempt: Int, at places: [AppPlace], route: String?, grant: CallPermit?,
    with dependencies: Dependencies, _ log: Log, _ span: JobSpan? = nil
  ) {
    // The publisher may have changed its mind about the environment since then.
    let route = route.flatMap(AppleRoute.init).flatMap { route in
      places.contains { $0.call.name == route.place } ? route : nil
    }
    guard let first = places.first(where: { $0.call.name == route?.place }) ?? places.first else {
      return nil
    }
    let answers =
      route?.answers.flatMap {
        KeptAnswers($0, of: job.synchronizationId, attempt: attempt, now: dependencies.now())
      } ?? KeptAnswers(of: job.synchronizationId, attempt: attempt)
    self.init(
      publisherId: job.publisherId, transactionId: job.transactionId, first,
      places.filter { $0 !== first && !answers.hasPassed($0.call.name) }[...], answers, original: route?.original,
      grant, CallUrgency(of: job.lane), dependencies, log, span)
  }

  /// Prepares to ask again about a purchase that the ledger knows, in its own place only.
  convenience init(
    lookingAt due: DuePurchase, in place: AppPlace, grant: CallPermit, with dependencies: Dependencies, _ log: Log
  ) {
    self.init(
      publisherId: due.key.publisherId, transactionId: due.transactionId, place, [],
      KeptAnswers(of: "timer", attempt: 1), original: due.key.originalTransactionId, grant, .later, dependencies, log,
      nil)
  }

  private init(
    publisherId: PublisherId, transactionId: TransactionId, _ place: AppPlace, _ others: ArraySlice<AppPlace>,
    _ answers: KeptAnswers, original: OriginalTransactionId?, _ grant: CallPermit?, _ urgency: CallUrgency,
    _ dependencies: Dependencies, _ log: Log, _ span: JobSpan?
  ) {
    self.urgency = urgency
    (self.place, self.original, self.answers) = (place, original, answers)
    (places, self.publisherId, self.transactionId) = (others, publisherId, transactionId)
    (self.grant, self.dependencies, self.log, self.span) = (grant, dependencies, log, span)
  }

  /// Asks one place after the other.
  func make() async -> Attempt {
    repeat {
      if let attempt = await ask(takeGrant()) { return attempt }
    } while moveOn()
    return knownNowhere()
  }

  @inline(never)
  private func knownNowhere() -> Attempt {
    guard answers.isUnauthorized else { return Attempt(result: .unknownTransaction) }
    return Attempt(result: .refused(wait: wait ?? .milliseconds(AppStanding.shortestPause)))
  }

  /// The endpoint that the verification may ask at once.
  private func takeGrant() -> AppStoreEndpoint? {
    guard let grant, grant.place == place.call.name else { return nil }
    self.grant = nil
    return AppStoreEndpoint(rawValue: grant.endpoint)
  }

  @inline(never)
  private func moveOn() -> Bool {
    guard let next = places.popFirst() else { return false }
    answers.pass(place.call.name, at: dependencies.now())
    (place, original) = (next, nil)
    return true
  }

  // Each of the thousands of jobs in flight takes memory for everything that its suspended functions may need again.
  // So errors, and the steps after them, are in functions of their own.

  /// Asks in the present place; `nil` when the next place comes.
  private func ask(_ granted: AppStoreEndpoint?) async -> Attempt? {
    if isRefused() { return nil }
    do throws(Obstacle) {
      return try await verify(granted)
    } catch {
      return await attempt(behind: error)
    }
  }

  private func attempt(behind obstacle: Obstacle) async -> Attempt? {
    switch obstacle {
    case .stop(.rejected, _) where answers.areEarlier:
      // The kept answers may have been damaged in Redis. Apple decides.
      return Attempt(result: .failed(.malformedAnswer), route: AppleRoute(place: place.call.name))
    case .stop(let result, let route): return Attempt(result: result, route: route)
    case .call(let error):
      switch await meaning(of: error) {
      case .unknownHere: return nil
      case .keyRefused, .doubtful:
        noteRefusal(error)
        return nil
      case .rateLimited(let time):
        await pause(error.endpoint, until: time)
        return failed(.rateLimited)
      case .failed(.unauthorized):
        let wait = place.refused(by: error, at: dependencies.now(), log)
        return Attempt(result: .refused(wait: wait), route: answers.missing.map { unfinished($0) })
      case .failed(let cause): return failed(cause)
      }
    }
  }

  private func meaning(of error: AppStoreAPIError) async -> CallFailure {
    let failure = CallFailure.of(
      error.kind, in: place.environment, for: place.app, hasAnswer: answers.missing != nil,
      isAccepted: place.standing.value.isAccepted(at: dependencies.now()))
    return failure == .doubtful ? await place.askWithoutId(dependencies, log) : failure
  }

  /// Whether Apple refuses the key of this app, and it is not yet time to ask again. The place is then left as after a
  /// refusal.
  private func isRefused() -> Bool {
    guard let wait = place.admit(at: dependencies.now()) else { return false }
    leaveApp(for: wait)
    return true
  }

  /// Ends the attempt, and keeps Apple's answers for the next run.
  private func failed(_ cause: RetryCause) -> Attempt {
    Attempt(result: .failed(cause), route: answers.missing.map { unfinished($0) })
  }

  /// Goes on without the app. Another app may know the transaction, but "nobody knows it" is no possible answer any
  /// more.
  private func noteRefusal(_ error: AppStoreAPIError) {
    leaveApp(for: place.refused(by: error, at: dependencies.now(), log))
  }

  private func leaveApp(for time: Duration) {
    wait = min(wait ?? time, time)
    answers.isUnauthorized = true
    guard place.environment == .production else { return }
    // The key is wrong in production. The sandbox's answer about the app would hide the mistake.
    for index in places.indices.reversed() where places[index].app.bundleId == place.app.bundleId {
      answers.skip(places.remove(at: index).call.name)
    }
  }

  // MARK: One app in one environment

  /// Why there is no verified purchase.
  indirect enum Obstacle: Error {
    case call(AppStoreAPIError)
    case stop(AttemptResult, route: AppleRoute? = nil)
  }

  /// Asks only one endpoint where that is enough.
  ///
  /// Get Transaction Info proves everything but a subscription that has been renewed, upgraded or ended since. Get All
  /// Subscription Statuses proves a subscription that it names.
  private func verify(_ granted: AppStoreEndpoint?) async throws(Obstacle) -> Attempt {
    var endpoint = granted
    if endpoint == nil { endpoint = try await takeCall(missing) }
    if endpoint == .subscriptionStatuses {
      try await askForStatuses()
      if let attempt = try latest() { return attempt }
      // The customer's subscriptions do not name this transaction. It is an older one of a subscription, or belongs to
      // no subscription.
    }
    if endpoint == .transactionInfo || !hasTransaction {
      if endpoint != .transactionInfo { try await takeCall(.transactionInfo) }
      try await askForTransaction()
    }
    switch try judge() {
    case .proven(let attempt): return attempt
    case .doubtful(let transaction): return try await resolve(transaction)
    }
  }

  // A suspended function reads these.
  @inline(never)
  private var missing: AppStoreEndpoint? { answers.missing }
  @inline(never)
  private var hasTransaction: Bool { answers.transaction != nil }

  /// Concludes by the statuses. Asks for them if no earlier answer is here.
  private func resolve(_ transaction: Transaction) async throws(Obstacle) -> Attempt {
    original = transaction.original
    if let statuses = answers.statuses {
      if let attempt = try settle(transaction, statuses) { return attempt }
      // Apple has just said this, and would say it again.
      guard answers.earlierStatusesAt != nil else { throw tryLater() }
      answers.forgetStatuses()
    }
    guard !answers.areStatusesUnknown else { throw tryLater() }
    try await takeCall(.subscriptionStatuses)
    try await askForStatuses()
    guard let statuses = answers.statuses, let attempt = try settle(transaction, statuses) else { throw tryLater() }
    return attempt
  }

  /// What the statuses say about a transaction; `nil` when only later statuses can tell.
  private func settle(
    _ transaction: Transaction, _ statuses: KeptAnswers.Statuses
  ) throws(Obstacle) -> Attempt? {
    if let entry = statuses.first(where: { $0.originalTransactionId == transaction.original }),
      let latest = try latest(entry, of: transaction.original, beside: transaction)
    {
      return hasEndedSince(latest) ? nil : latest
    }
    // The transaction does not show the purchases after an upgrade.
    return transaction.signed.payload.isUpgraded == true ? nil : try purchase([try evidence(transaction.signed)])
  }

  /// Whether a subscription has ended since an earlier run got its statuses, so that Apple may have renewed it.
  private func hasEndedSince(_ attempt: Attempt) -> Bool {
    guard let then = answers.earlierStatusesAt, let purchase = attempt.purchase else { return false }
    return purchase.hasEnded(since: then, now: dependencies.now())
  }
}
