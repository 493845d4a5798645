import AMQP
import AppStore
import Domain
import EventLoop
import Formats
import HTTPServer
import Ledger
import Messaging
import Observability
import Postgres
import Service

/// Takes in Apple's notifications. The signature is the authentication: nobody else can sign for an app of ours.
///
/// The answer is 200 once the ledger has the notification, also for repeats and for types that nobody knows. Apple
/// posts it again after any other answer. A worker applies it.
@LoopActor
final class NotificationIntake {
  private let context: RoleContext
  private let verifier: SignedDataVerifier
  private let store: NotificationStore
  private let timers: Timers
  private let publisher: AMQPPublisher
  private let queue: String
  private let metrics: Counter
  private var apps = PublisherApps([])
  private var appsRevision = -1
  private var lastSample: ContinuousClock.Instant?

  /// How often a refused body is logged.
  private static let pauseOfSamples = Duration.seconds(10)

  /// What became of a post, as the metric tells it.
  enum Outcome: String, CaseIterable {
    case stored, repeated, hint
    case notSigned = "not_signed"
    case foreign, malformed, unavailable
  }

  init(
    _ context: RoleContext, _ verifier: SignedDataVerifier, _ ledger: PostgresClient, _ publisher: AMQPPublisher,
    queue: String
  ) {
    self.context = context
    self.verifier = verifier
    self.publisher = publisher
    self.queue = queue
    store = NotificationStore(ledger)
    timers = Timers(ledger)
    metrics = context.metrics.counter(
      "countersign_notifications_total", "Posts of Apple's by what they came to.", labels: ["outcome"],
      known: Outcome.allCases.map { [$0.rawValue] })
  }

  /// Answers a post to our own path: version 2.
  func take(_ request: HTTPServerRequest) async throws(Problem) -> HTTPServerResponse {
    guard case .version2(let text) = try posted(request) else {
      throw refuse(.malformed, "This path takes version 2 of Apple's notifications only.")
    }
    return try await take(signed: text)
  }

  /// Answers a post to Cleeng's path: version 1 or 2.
  func take(_ request: HTTPServerRequest, of publisherId: String) async throws(Problem) -> HTTPServerResponse {
    guard let id = Int64(publisherId), let owner = context.publishers[id] else {
      throw .notFound("There is no publisher \(publisherId.prefix(32)).")
    }
    switch try posted(request) {
    case .version2(let text): return try await take(signed: text)
    case .version1(let hint): return try await take(hint, of: owner)
    }
  }

  private func posted(_ request: HTTPServerRequest) throws(Problem) -> PostedNotification {
    do throws(Rejection) {
      return try PostedNotification(request.body)
    } catch {
      throw refuse(.malformed, "\(error)")
    }
  }

  // MARK: Version 2

  private func take(signed text: String) async throws(Problem) -> HTTPServerResponse {
    let notification = try verified(text)
    let rows = publisherApps.publishers(of: notification.origin).map { row($0, notification, text) }
    guard !rows.isEmpty else {
      throw refuse(.foreign, "No publisher lists the app \(notification.origin.bundleId) in this environment.")
    }
    let new: Set<NotificationKey>
    do {
      new = try await store.keep(rows)
    } catch {
      context.log.ledgerFailure("a notification could not be kept", error)
      metrics.count(Outcome.unavailable.rawValue)
      throw .unavailable("The ledger cannot keep the notification now.")
    }
    metrics.count((new.isEmpty ? Outcome.repeated : .stored).rawValue)
    if !notification.kind.isKnown {
      context.log.warning("a notification of an unknown type", ["type": .text(notification.kind)])
    }
    for key in new.sorted(by: { $0.publisherId < $1.publisherId }) { wake(key) }
    return HTTPServerResponse(status: 200)
  }

  private func verified(_ text: String) throws(Problem) -> VerifiedNotification {
    switch verifier.notification(text, expecting: publisherApps.accepted) {
    case .accepted(let notification): return notification
    case .tryLater(let rejection):
      metrics.count(Outcome.unavailable.rawValue)
      throw .unavailable("The signature cannot be judged now: \(rejection)")
    case .rejected(let rejection):
      let isForeign = [.bundleIdMismatch, .appAppleIdMismatch, .environmentMismatch].contains(rejection.reason)
      throw refuse(isForeign ? .foreign : .notSigned, "\(rejection)", of: text)
    }
  }

  private func row(_ publisherId: Int64, _ notification: VerifiedNotification, _ text: String) -> KeptNotification {
    KeptNotification(
      publisherId: publisherId, uuid: notification.uuid, type: notification.kind.type.rawValue,
      subtype: notification.kind.subtype?.rawValue, environment: notification.origin.environment.rawValue,
      bundleId: notification.origin.bundleId,
      originalTransactionId: notification.transaction?.payload.originalTransactionId
        ?? notification.renewalInfo?.payload.originalTransactionId,
      signedDate: notification.signedDate, source: .apple, body: Array(text.utf8))
  }

  /// Tells a worker. If the message is lost, a sweep finds the notification in the ledger.
  private func wake(_ key: NotificationKey) {
    guard publisher.isReady else { return }
    Task.immediate { @LoopActor in
      try? await publisher.publish(NotificationMessage.message(key.publisherId, key.uuid.text, queue: queue))
    }
  }

  private var publisherApps: PublisherApps {
    if appsRevision != context.publishersRevision {
      appsRevision = context.publishersRevision
      apps = PublisherApps(
        context.publishers.all.flatMap { publisher in
          publisher.acceptedAppList.map { (publisherId: publisher.id, app: $0) }
        })
    }
    return apps
  }

  // MARK: Version 1

  /// An old notification is not signed. It proves nothing, but with the publisher's secret it is worth a look.
  private func take(_ hint: NotificationV1, of publisher: Publisher) async throws(Problem) -> HTTPServerResponse {
    guard publisher.notifications.sharedSecretHashes.contains(where: { hint.hasPassword(sha256: $0) }) else {
      throw refuse(.notSigned, "The password is not a shared secret of the publisher's.")
    }
    do {
      _ = try await timers.hint(publisher.id, hint.originalTransactionIds, in: [hint.environment.rawValue])
    } catch {
      context.log.ledgerFailure("a hint could not be kept", error)
      metrics.count(Outcome.unavailable.rawValue)
      throw .unavailable("The ledger cannot keep the hint now.")
    }
    metrics.count(Outcome.hint.rawValue)
    return HTTPServerResponse(status: 200)
  }

  // MARK: Refusals

  private func refuse(_ outcome: Outcome, _ detail: String, of text: String = "") -> Problem {
    metrics.count(outcome.rawValue)
    // Anybody can post anything. The log shows a sample.
    if lastSample.map({ ContinuousClock.now - $0 > Self.pauseOfSamples }) ?? true {
      lastSample = .now
      context.log.warning(
        "a notification was refused",
        ["outcome": .string(outcome.rawValue), "reason": .string(detail), "bytes": .int(Int64(text.utf8.count))])
    }
    return .invalidBody(detail)
  }
}
