import AppStore
import Coordination
import Domain
import EventLoop
import Glibc
import Ledger
import Observability
import Service

/// One reading of an app's Notification History, page by page.
///
/// It keeps each page before it asks for the next one, and waits until the new notifications of the page are applied.
/// If it ends early, what it has kept stays, and a later reading begins anew.
@LoopActor
struct HistoryReading {
  let source: NotificationSource
  let place: AppPlace
  let range: HistoryPlan.Range
  let sources: NotificationSources
  let store: NotificationStore
  let verification: PurchaseVerification.Dependencies
  let metrics: HistoryMetrics
  /// A test's fault: whether this history ends the process.
  let isFatal: Bool
  /// The ids of the publisher's URLs that get the notifications of this environment, too.
  let forwards: [EndpointId]
  let log: Log
  /// Runs what a page of Apple's makes this process do, beside others or alone (decision 0034).
  let turn: @LoopActor (@LoopActor () async -> Void) async -> Suspects.Ending
  /// Applies new notifications, and returns when that is done.
  let apply: @LoopActor ([NotificationKey]) async -> Void
  /// Whether the worker stops.
  let isStopping: @LoopActor () -> Bool

  /// How a reading ends.
  enum End: Error, Equatable {
    case complete
    /// The worker stopped, or others had to run alone.
    case stopped
    /// Workers died of it again and again. It waits until its count in Redis ends, or a person deletes it.
    case heldBack
    /// Apple's production does not know an app that was never released.
    case notReleased
    /// The publisher's file does not fit what Apple sent: the app's id, or an environment that is not accepted.
    case refused
    case failed(RetryCause)

    var label: String {
      switch self {
      case .complete: "complete"
      case .stopped: "stopped"
      case .heldBack: "held_back"
      case .notReleased: "not_released"
      case .refused: "refused"
      case .failed(let cause): cause.rawValue
      }
    }

    static let known: [End] =
      [.complete, .stopped, .heldBack, .notReleased, .refused]
      + [
        .network, .timeout, .tls, .appleError, .unauthorized, .malformedAnswer, .budget, .storeUnavailable,
        .ledgerUnavailable, .tryLater,
      ].map(End.failed)
  }

  /// How long a page waits for its budget in all.
  private static let patience = Duration.seconds(60)
  /// How often a page is asked for that may come with the next try.
  private static let tries = 4

  /// Reads everything of the range.
  func run() async -> End {
    do throws(End) {
      let request = NotificationHistoryRequest(startDate: range.start, endDate: range.end)
      var token: String?
      var isRefused = false
      while true {
        let (page, kept) = try await page(request, token)
        await apply(Array(kept.new))
        if kept.isRefused { isRefused = true }
        guard page.hasMore == true else { break }
        // A page that does not lead to the next one would be read again and again.
        guard let next = page.paginationToken, next.utf8.elementsEqual((token ?? "").utf8) == false else {
          throw .failed(.malformedAnswer)
        }
        token = next
      }
      // Somebody will mend the file. Until then the gap grows, and the next reading begins where this one did.
      guard !isRefused else { throw .refused }
      try await inLedger { try await sources.complete(source, through: range.end) }
      return .complete
    } catch {
      return error
    }
  }

  // MARK: Asking

  /// Reads a page and keeps it.
  private func page(
    _ request: NotificationHistoryRequest, _ token: String?
  ) async throws(End) -> (NotificationHistoryResponse, Kept) {
    let end = ContinuousClock.now + Self.patience
    var tries = 0
    while true {
      try await takeCall(until: end)
      var result: Result<(NotificationHistoryResponse, Kept), AskFailure> = .failure(.end(.stopped))
      while true {
        let ending = await turn { result = await ask(request, token) }
        if ending == .ran { break }
        guard ending == .later else { throw .heldBack }
        guard .now < end, !isStopping() else { throw .stopped }
        try await wait(.seconds(1))
      }
      switch result {
      case .success(let found): return found
      case .failure(.end(let end)): throw end
      case .failure(.apple(let error)):
        tries += 1
        try await judge(error, tries)
      }
    }
  }

  private enum AskFailure: Error {
    case apple(AppStoreAPIError)
    case end(End)
  }

  /// Asks Apple for a page, and keeps what it brings.
  private func ask(
    _ request: NotificationHistoryRequest, _ token: String?
  ) async -> Result<(NotificationHistoryResponse, Kept), AskFailure> {
    let start = ContinuousClock.now
    let page: NotificationHistoryResponse
    do throws(AppStoreAPIError) {
      page = try await verification.api.notificationHistory(
        request, paginationToken: token, in: place.environment, for: place.credentials
      ).body
      observe(start, "ok")
      place.accepted(at: verification.now(), log)
    } catch {
      observe(start, error.label)
      return .failure(.apple(error))
    }
    do throws(End) { return .success((page, try await keep(page.notificationHistory ?? []))) } catch {
      return .failure(.end(error))
    }
  }

  /// Returns when the page may be asked for again.
  private func judge(_ error: AppStoreAPIError, _ tries: Int) async throws(End) {
    log.info("Apple call failed", ["endpoint": .string(error.endpoint.rawValue), "cause": .failure(error)])
    switch CallFailure.of(error.kind, in: place.environment, for: place.app, hasAnswer: false) {
    case .unknownHere: throw place.isUnknownToApple ? .notReleased : .failed(.appleError)
    case .keyRefused, .doubtful:
      place.refused(by: error, at: verification.now(), log)
      throw .failed(.unauthorized)
    case .rateLimited(let time):
      let wait = Duration.milliseconds(time.map { max(1, $0 - verification.now()) } ?? 1000)
      do {
        try await verification.budget.pause(place.history, AppStoreEndpoint.notificationHistory.rawValue, for: wait)
      } catch {
        throw .failed(.storeUnavailable)
      }
    case .failed(let cause):
      guard [.network, .timeout, .appleError].contains(cause), tries < Self.tries else { throw .failed(cause) }
      try await wait(.seconds(1 << (tries - 1)))
    }
  }

  /// Takes one of the calls that nobody waits for.
  private func takeCall(until end: ContinuousClock.Instant) async throws(End) {
    while true {
      guard !isStopping() else { throw .stopped }
      let answer: CallAnswer
      do {
        answer = try await verification.budget.takeCall(
          place.history, only: AppStoreEndpoint.notificationHistory.rawValue, .later)
      } catch {
        throw .failed(.storeUnavailable)
      }
      guard case .wait(let wait) = answer else { return }
      guard .now + wait < end else { throw .failed(.budget) }
      try await self.wait(min(wait, .seconds(1)))
    }
  }

  private func wait(_ time: Duration) async throws(End) {
    do { try await EventLoop.sleep(for: time) } catch { throw .stopped }
  }

  private func observe(_ start: ContinuousClock.Instant, _ outcome: String) {
    verification.metrics.appleCalls.observe(
      (ContinuousClock.now - start).inSeconds, AppStoreEndpoint.notificationHistory.rawValue,
      place.environment.text, outcome)
  }

  // MARK: Keeping

  /// What the ledger has of a page.
  private struct Kept {
    /// The notifications that it did not have before.
    let new: Set<NotificationKey>
    /// Whether a notification was refused that another publisher's file would accept.
    let isRefused: Bool
  }

  private func keep(_ page: [SentNotification]) async throws(End) -> Kept {
    if isFatal { abort() }
    var rows: [KeptNotification] = []
    var isRefused = false
    for sent in page {
      switch try row(sent.signedPayload ?? "") {
      case .success(let row): rows.append(row)
      case .failure(let rejection): if rejection.dependsOnFile { isRefused = true }
      }
    }
    let all = rows
    let new = try await inLedger { try await store.keep(all) }
    metrics.notifications.add(Double(new.count), "new")
    metrics.notifications.add(Double(rows.count - new.count), "known")
    return Kept(new: new, isRefused: isRefused)
  }

  /// Verifies one notification, as the gateway does with a posted one.
  private func row(_ text: String) throws(End) -> Result<KeptNotification, Rejection> {
    switch verification.verifier.notification(text, expecting: place.accepted) {
    case .accepted(let notification):
      let isForwarded = NotificationPolicy.forwardsFound(notification.signedDate, now: verification.now())
      let row = KeptNotification(
        notification, text, of: source.key.publisherId, source.readThrough == nil ? .firstHistory : .history)
      return .success(row.forwarded(to: isForwarded ? forwards : []))
    case .tryLater: throw .failed(.tryLater)
    case .rejected(let rejection):
      metrics.notifications.count("refused")
      log.error("a notification of the history was refused", ["reason": .string("\(rejection)")])
      return .failure(rejection)
    }
  }

  private func inLedger<Value: Sendable>(_ statement: @LoopActor () async throws -> Value) async throws(End) -> Value {
    do {
      return try await statement()
    } catch {
      log.ledgerFailure("a reading of Notification History could not be kept", error)
      throw .failed(.ledgerUnavailable)
    }
  }
}

extension KeptNotification {
  fileprivate init(
    _ notification: VerifiedNotification, _ text: String, of publisherId: PublisherId, _ source: Source
  ) {
    self.init(
      publisherId: publisherId, uuid: notification.uuid, type: notification.kind.type.rawValue,
      subtype: notification.kind.subtype?.rawValue, environment: notification.origin.environment,
      bundleId: notification.origin.bundleId,
      originalTransactionId: notification.originalTransactionId, signedDate: notification.signedDate, source: source,
      body: Array(text.utf8))
  }
}
