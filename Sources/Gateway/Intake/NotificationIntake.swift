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
  private let topology: Topology
  private let metrics: Counter
  private var apps = PublisherApps([])
  private var appsRevision = -1
  private var lastSample: ContinuousClock.Instant?

  /// How often a refused body is logged.
  private static let pauseOfSamples = Duration.seconds(10)

  /// What became of a post, as the metric tells it.
  enum Outcome: String, CaseIterable {
    case stored, repeated, hint
    case unknownPurchase = "unknown_purchase"
    case notSigned = "not_signed"
    case foreign, malformed, unavailable
  }

  init(
    _ context: RoleContext, _ verifier: SignedDataVerifier, _ ledger: PostgresClient, _ publisher: AMQPPublisher,
    _ topology: Topology
  ) {
    self.context = context
    self.verifier = verifier
    self.publisher = publisher
    self.topology = topology
    store = NotificationStore(ledger)
    timers = Timers(ledger)
    metrics = context.metrics.counter(
      "countersign_notifications_total", "Posts of Apple's by what they came to.", labels: ["outcome"],
      known: Outcome.allCases.map { [$0.rawValue] })
  }

  /// Answers a post to our own path: version 2.
  func take(_ request: HTTPServerRequest) async throws(Problem) -> HTTPServerResponse {
    guard case .version2(let text) = try posted(request) else {
      throw refuse(.malformed, "This path takes version 2 of Apple's notifications only.", request.body.count)
    }
    return try await take(signed: text, in: request.body)
  }

  /// Answers a post to Cleeng's path: version 1 or 2.
  func take(_ request: HTTPServerRequest, of publisherId: String) async throws(Problem) -> HTTPServerResponse {
    guard let id = Int64(publisherId), String(id) == publisherId, let owner = context.publishers[id] else {
      let reason = "There is no publisher \(publisherId.prefix(32))."
      note(.foreign, reason, bytes: request.body.count)
      throw .notFound(reason)
    }
    switch try posted(request) {
    case .version2(let text): return try await take(signed: text, in: request.body)
    case .version1(let hint): return try await take(hint, of: owner, bytes: request.body.count)
    }
  }

  private func posted(_ request: HTTPServerRequest) throws(Problem) -> PostedNotification {
    do throws(Rejection) {
      return try PostedNotification(request.body)
    } catch {
      throw refuse(.malformed, "\(error)", request.body.count)
    }
  }

  // MARK: Version 2

  private func take(signed text: String, in body: [UInt8]) async throws(Problem) -> HTTPServerResponse {
    let notification = try verified(text)
    let rows = publisherApps.publishers(of: notification.origin).map { id in
      let forwards = context.publishers[id]?.notifications.forwards(in: notification.origin.environment.rawValue) ?? []
      return row(id, notification, text).forwarded(to: forwards, as: body)
    }
    guard !rows.isEmpty else {
      throw refuse(
        .foreign, "No publisher lists the app \(notification.origin.bundleId) in this environment.", body.count)
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
    for row in rows where new.contains(row.key) { wake(row) }
    return HTTPServerResponse(status: 200)
  }

  private func verified(_ text: String) throws(Problem) -> VerifiedNotification {
    switch verifier.notification(text, expecting: publisherApps.accepted) {
    case .accepted(let notification): return notification
    case .tryLater(let rejection):
      metrics.count(Outcome.unavailable.rawValue)
      throw .unavailable("The signature cannot be judged now: \(rejection)")
    case .rejected(let rejection):
      throw refuse(rejection.dependsOnFile ? .foreign : .notSigned, "\(rejection)", text.utf8.count)
    }
  }

  private func row(_ publisherId: Int64, _ notification: VerifiedNotification, _ text: String) -> KeptNotification {
    KeptNotification(
      publisherId: publisherId, uuid: notification.uuid, type: notification.kind.type.rawValue,
      subtype: notification.kind.subtype?.rawValue, environment: notification.origin.environment.rawValue,
      bundleId: notification.origin.bundleId,
      originalTransactionId: notification.originalTransactionId, signedDate: notification.signedDate, source: .apple,
      body: Array(text.utf8))
  }

  /// Tells a worker, and the notifiers if the notification is passed on. If a message is lost, a sweep finds in the
  /// ledger what is to be done.
  private func wake(_ row: KeptNotification) {
    guard publisher.isReady else { return }
    let messages =
      [NotificationMessage.message(row.publisherId, row.uuid, queue: topology.notifications)]
      + row.forwards.compactMap { Delivery(row.key, to: $0)?.message(queue: topology.deliveries) }
    for message in messages {
      Task.immediate { @LoopActor in try? await publisher.publish(message) }
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
  private func take(
    _ hint: NotificationV1, of publisher: Publisher, bytes: Int
  ) async throws(Problem) -> HTTPServerResponse {
    guard publisher.notifications.sharedSecretHashes.contains(where: { hint.hasPassword(sha256: $0) }) else {
      throw refuse(.notSigned, "The password is not a shared secret of the publisher's.", bytes)
    }
    let isKnown: Bool
    do {
      isKnown = try await timers.hint(publisher.id, hint.originalTransactionIds, in: [hint.environment.rawValue])
    } catch {
      context.log.ledgerFailure("a hint could not be kept", error)
      metrics.count(Outcome.unavailable.rawValue)
      throw .unavailable("The ledger cannot keep the hint now.")
    }
    metrics.count((isKnown ? Outcome.hint : .unknownPurchase).rawValue)
    return HTTPServerResponse(status: 200)
  }

  // MARK: Refusals

  /// The answer to a body that the server does not take.
  func refusal(of reason: HTTPServer.BodyRefusal) -> Problem {
    switch reason {
    case .tooLong:
      note(.malformed, "The body is too long.", bytes: PostedNotification.maxLength + 1)
      return .tooLarge(PostedNotification.maxLength)
    case .noRoom:
      metrics.count(Outcome.unavailable.rawValue)
      return .unavailable("Too many notifications arrive at once.")
    }
  }

  private func refuse(_ outcome: Outcome, _ detail: String, _ bytes: Int) -> Problem {
    note(outcome, detail, bytes: bytes)
    return .invalidBody(detail)
  }

  private func note(_ outcome: Outcome, _ detail: String, bytes: Int) {
    metrics.count(outcome.rawValue)
    // Anybody can post anything. The log shows a sample.
    if lastSample.map({ ContinuousClock.now - $0 > Self.pauseOfSamples }) ?? true {
      lastSample = .now
      context.log.warning(
        "a notification was refused",
        ["outcome": .string(outcome.rawValue), "reason": .string(detail), "bytes": .int(Int64(bytes))])
    }
  }
}
