import AMQP
import AppStore
import Configuration
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
  private var pace: NotificationPace
  private let started = ContinuousClock.now
  private let longTexts: LongTexts
  private var apps = PublisherApps([])
  private var appsRevision = -1
  private var gathering: (revision: Int, task: Task<PublisherApps, Never>)?
  private var lastSample: ContinuousClock.Instant?

  /// How often a refused body is logged.
  private static let pauseOfSamples = Duration.seconds(10)

  /// What became of a post, as the metric tells it.
  enum Fate: String, CaseIterable {
    case stored, repeated, hint
    case unknownPurchase = "unknown_purchase"
    case notSigned = "not_signed"
    case foreign, malformed, unavailable
    case tooFast = "too_fast"
  }

  init(
    _ context: RoleContext, _ verifier: SignedDataVerifier, _ postgres: PostgresClient, _ publisher: AMQPPublisher,
    _ topology: Topology
  ) {
    self.context = context
    self.verifier = verifier
    self.publisher = publisher
    self.topology = topology
    pace = NotificationPace(refusedPerSecond: context.settings.gateway.refusedNotificationsPerSecond)
    longTexts = LongTexts(atOnce: 2)
    store = NotificationStore(postgres)
    timers = Timers(postgres)
    metrics = context.metrics.counter(
      "countersign_notifications_total", "Posted notifications.", labels: ["outcome"],
      known: Fate.allCases.map { [$0.rawValue] })
  }

  // MARK: Posts

  /// The refusal of a post before its body is read: its sender has posted too much that was refused.
  func refusal(of head: HTTPServerRequest) -> HTTPServerResponse? {
    guard head.method == "POST", let wait = pace.refusal(of: source(head), now: now) else { return nil }
    metrics.count(Fate.tooFast.rawValue)
    return Problem.tooManyRequests(
      "This address has posted too much that is not Apple's, or not new (gateway.refusedNotificationsPerSecond).",
      retryAfter: wait
    ).response
  }

  /// Answers a post to our own path: version 2.
  func take(_ request: HTTPServerRequest) async throws(Problem) -> HTTPServerResponse {
    guard case .version2(let text) = try await posted(request) else {
      // It does not count as refused: a developer has set up this path for version 1, and Apple posts there from the
      // addresses from which it posts for everybody.
      noteTaken(request)
      let detail = "This path takes version 2 of Apple's notifications only. Set up version 2 in App Store Connect."
      note(.malformed, detail, bytes: request.body.count)
      throw .invalidBody(detail)
    }
    return try await take(signed: text, request)
  }

  /// Answers a post to Cleeng's path: version 1 or 2.
  func take(_ request: HTTPServerRequest, of publisherId: String) async throws(Problem) -> HTTPServerResponse {
    let owner: Publisher
    switch PublisherId(publisherId).flatMap({ String($0) == publisherId ? $0 : nil }).map(context.publishers.lookUp) {
    case .found(let found): owner = found
    case .broken:
      metrics.count(Fate.unavailable.rawValue)
      throw .brokenPublisher
    case .unknown, nil:
      let reason = "There is no publisher \(publisherId.prefix(32))."
      // It does not count against the address: Apple posts wherever a developer has set up, from the addresses from
      // which it posts for everybody. Nothing of the body was read.
      note(.foreign, reason, bytes: request.body.count)
      throw .notFound(reason)
    }
    switch try await posted(request) {
    case .version2(let text): return try await take(signed: text, request)
    case .version1(let sealed): return try await take(sealed, of: owner, request)
    }
  }

  private func posted(_ request: HTTPServerRequest) async throws(Problem) -> PostedNotification {
    let body = request.body
    let read = try await reading(body.count) {
      Result { () throws(Rejection) in try PostedNotification(body) }
    }
    do throws(Rejection) {
      return try read.get()
    } catch {
      throw refuse(.malformed, "\(error)", request)
    }
  }

  /// Does work with so many bytes, on the loop or beside it.
  private func reading<Value: Sendable>(
    _ size: Int, _ work: @escaping @Sendable () -> Value
  ) async throws(Problem) -> Value {
    guard let value = await longTexts.read(size, work) else {
      metrics.count(Fate.unavailable.rawValue)
      throw .unavailable("Too many long notifications are read at once.")
    }
    return value
  }

  // MARK: Version 2

  private func take(signed text: String, _ request: HTTPServerRequest) async throws(Problem) -> HTTPServerResponse {
    let notification = try await verified(text, request)
    let rows = await publisherApps.publishers(of: notification.origin).map { id in
      let forwards = context.publishers[id]?.notifications.forwards(in: notification.origin.environment) ?? []
      return row(id, notification, text).forwarded(to: forwards, as: request.body)
    }
    guard !rows.isEmpty else {
      throw refuseForeign(
        "No publisher lists the app \(notification.origin.bundleId) in this environment.", request)
    }
    // It cost a verification, also if the ledger is away.
    noteTaken(request)
    let new: Set<NotificationKey>
    do {
      new = try await store.keep(rows)
      if !new.isEmpty { pace.noteNew(source(request)) }
    } catch {
      context.log.ledgerFailure("a notification could not be kept", error)
      metrics.count(Fate.unavailable.rawValue)
      throw .unavailable("The ledger cannot keep the notification now.")
    }
    metrics.count((new.isEmpty ? Fate.repeated : .stored).rawValue)
    if !notification.kind.isKnown {
      context.log.warning("a notification of an unknown type", ["type": .text(notification.kind)])
    }
    for row in rows where new.contains(row.key) { wake(row) }
    // Apple posts it again after a 503. Who has got it by then gets it no second time.
    if context.publishers.absentLists(bundleId: notification.origin.bundleId) { throw .brokenPublisher }
    return HTTPServerResponse(status: 200)
  }

  private func verified(
    _ text: String, _ request: HTTPServerRequest
  ) async throws(Problem) -> VerifiedNotification {
    let (verifier, accepted) = (verifier, await publisherApps.accepted)
    switch try await reading(text.utf8.count, { verifier.notification(text, expecting: accepted) }) {
    case .accepted(let notification): return notification
    case .tryLater(let rejection):
      metrics.count(Fate.unavailable.rawValue)
      throw .unavailable("The signature cannot be judged now: \(rejection)")
    case .rejected(let rejection):
      throw rejection.dependsOnFile
        ? refuseForeign("\(rejection)", request) : refuse(.notSigned, "\(rejection)", request)
    }
  }

  private func row(_ publisherId: PublisherId, _ notification: VerifiedNotification, _ text: String) -> KeptNotification
  {
    KeptNotification(
      publisherId: publisherId, uuid: notification.uuid, type: notification.kind.type.rawValue,
      subtype: notification.kind.subtype?.rawValue, environment: notification.origin.environment,
      bundleId: notification.origin.bundleId,
      originalTransactionId: notification.originalTransactionId, signedDate: notification.signedDate, source: .apple,
      body: Array(text.utf8))
  }

  /// Tells a worker, and the notifiers if the notification is passed on. If a message is lost, a sweep finds in the
  /// ledger what to do.
  private func wake(_ row: KeptNotification) {
    guard publisher.isReady else { return }
    let messages =
      [NotificationMessage.message(row.publisherId, row.uuid, queue: topology.notifications)]
      + row.forwards.compactMap {
        Delivery(row.key, to: $0)?.message(queue: context.deliveryQueues.next(of: row.publisherId))
      }
    for message in messages { publisher.publish(message) { _ in } }
  }

  /// The apps of the present publishers. After a reload they are gathered on another thread, since there may be
  /// thousands; who asks meanwhile waits.
  private var publisherApps: PublisherApps {
    get async {
      let revision = context.publishersRevision
      guard appsRevision != revision else { return apps }
      let task = gathering.flatMap { $0.revision == revision ? $0.task : nil } ?? gather(revision)
      let gathered = await task.value
      // A later reload may have overtaken this one.
      if revision >= appsRevision { (apps, appsRevision) = (gathered, revision) }
      return gathered
    }
  }

  private func gather(_ revision: Int) -> Task<PublisherApps, Never> {
    let all = context.publishers.all
    let task = Task { @LoopActor in
      // The pool refuses work only when the process ends.
      (try? await EventLoop.offload { PublisherApps(of: all) }) ?? PublisherApps(of: all)
    }
    gathering = (revision, task)
    return task
  }

  // MARK: Version 1

  /// An old notification is not signed. It proves nothing, but with the publisher's secret it is worth a look.
  ///
  /// The secret comes first: the body of a sender who does not know it is not decoded.
  private func take(
    _ sealed: SealedNotificationV1, of publisher: Publisher, _ request: HTTPServerRequest
  ) async throws(Problem) -> HTTPServerResponse {
    guard publisher.notifications.sharedSecretHashes.contains(where: { sealed.hasPassword(sha256: $0) }) else {
      throw refuse(.notSigned, "The password is not one of the publisher's shared secrets.", request)
    }
    let read = try await reading(request.body.count) { Result { () throws(Rejection) in try sealed.hint() } }
    let hint: NotificationV1
    do throws(Rejection) {
      hint = try read.get()
    } catch {
      throw refuse(.malformed, "\(error)", request)
    }
    noteTaken(request)
    let isKnown: Bool
    do {
      isKnown = try await timers.hint(publisher.id, hint.originalTransactionIds, in: [hint.environment])
    } catch {
      context.log.ledgerFailure("a hint could not be kept", error)
      metrics.count(Fate.unavailable.rawValue)
      throw .unavailable("The ledger cannot keep the hint now.")
    }
    metrics.count((isKnown ? Fate.hint : .unknownPurchase).rawValue)
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
      metrics.count(Fate.unavailable.rawValue)
      return .unavailable("Too many notifications arrive at once.")
    }
  }

  private func refuse(_ fate: Fate, _ detail: String, _ request: HTTPServerRequest) -> Problem {
    pace.noteRefused(source(request), bytes: request.body.count, now: now)
    note(fate, detail, bytes: request.body.count)
    return .invalidBody(detail)
  }

  /// Refuses what Apple signed for an app that nobody lists: no fault of its sender's.
  private func refuseForeign(_ detail: String, _ request: HTTPServerRequest) -> Problem {
    noteTaken(request)
    if context.publishers.hasAbsent {
      // It may be the app of a publisher whose file cannot be used now.
      metrics.count(Fate.unavailable.rawValue)
      return .brokenPublisher
    }
    note(.foreign, detail, bytes: request.body.count)
    return .invalidBody(detail)
  }

  private func noteTaken(_ request: HTTPServerRequest) {
    pace.noteTaken(source(request), bytes: request.body.count, now: now)
  }

  private var now: Duration { ContinuousClock.now - started }

  /// A path of a publisher that is not there counts as our own path: nobody's numbers fill the memory.
  private func source(_ request: HTTPServerRequest) -> NotificationPace.Source {
    let named = request.path.last.flatMap { PublisherId($0) }
    return NotificationPace.Source(
      address: AddressGroup(request.origin.client),
      publisher: named.flatMap { context.publishers[$0]?.id })
  }

  private func note(_ fate: Fate, _ detail: String, bytes: Int) {
    metrics.count(fate.rawValue)
    // Anybody can post anything. The log shows a sample.
    if lastSample.map({ ContinuousClock.now - $0 > Self.pauseOfSamples }) ?? true {
      lastSample = .now
      context.log.warning(
        "a notification was refused",
        ["outcome": .string(fate.rawValue), "reason": .string(detail), "bytes": .int(Int64(bytes))])
    }
  }
}
