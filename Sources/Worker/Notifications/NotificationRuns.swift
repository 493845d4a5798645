import AMQP
import AppStore
import Coordination
import Domain
import EventLoop
import Formats
import Glibc
import Ledger
import Messaging
import Observability
import Service

/// Applies Apple's notifications: reads them from the ledger, verifies them again, and merges what they prove.
///
/// All messages of one turn are read in one statement. A message that gets lost costs some seconds: the ledger knows
/// which notifications are open. One that comes again may have killed its worker: the worker counts its runs, runs it
/// alone, and at last puts it aside (decision 0034).
@LoopActor
final class NotificationRuns: RoleService {
  /// What the runs work with.
  @LoopActor
  struct Dependencies {
    let context: RoleContext
    let ledger: any NotificationLedger
    /// Commits what a notification proves; returns the events to publish.
    let apply: @LoopActor (PurchaseUpdate) async throws -> Told
    let publish: @LoopActor (consuming Told) -> Void
    /// Lets Apple be asked about a purchase of a publisher in an environment.
    let hint: @LoopActor (PublisherId, OriginalTransactionId, Environment) async throws -> Void
    let verifier: SignedDataVerifier
    let suspects: Suspects
    let begun: any RunCounts
    /// Called when a commit has taken what a notification tells about a refund.
    let onRefund: @LoopActor () -> Void
    /// Whether the ledger can be asked.
    let isReady: @LoopActor () -> Bool
  }

  let dependencies: Dependencies
  let metrics: NotificationMetrics
  private let runs = RunningTasks()
  private var waiting: [Waiting] = []
  private lazy var readLater = EndOfTurn { [weak self] in self?.readWaiting() }
  private lazy var sweeps = Chore(every: Self.sweepInterval, isReady: dependencies.isReady) { [weak self] in
    await self?.sweep()
  }
  private var places: [PublisherId: AcceptedApps] = [:]
  private var placesRevision = -1

  /// A notification that must be applied, and what follows.
  struct Waiting {
    let key: NotificationKey
    /// Whether its worker may have died: its message comes again, or a sweep found it.
    var isSuspect = false
    /// Called when the notification is applied or left to the sweep.
    let done: @LoopActor () -> Void
  }

  /// For so long a suspect waits here while others have their time.
  private static let longestRest = Duration.seconds(5)
  /// The most open notifications of one sweep.
  private static let mostSwept = 500

  /// How often a worker looks for notifications that nobody has applied.
  private static let sweepInterval = Duration.seconds(2)

  init(_ dependencies: Dependencies) {
    self.dependencies = dependencies
    metrics = NotificationMetrics(dependencies.context.metrics)
  }

  var context: RoleContext { dependencies.context }

  /// Begins to look for what nobody has applied. The consumer brings the rest.
  func start() { sweeps.start() }

  /// Takes a message. It is acknowledged when its notification is applied, so that the prefetch limits the work.
  func take(_ received: AMQPConsumer.Received) {
    guard !runs.isClosed, let key = NotificationMessage.read(received.delivery) else {
      return received.acknowledge()
    }
    waiting.append(Waiting(key: key, isSuspect: received.delivery.isRedelivered) { received.acknowledge() })
    readLater.plan()
  }

  /// Applies notifications that the ledger has just taken, and returns when that is done or left to the sweep.
  func take(_ keys: [NotificationKey]) async {
    guard !runs.isClosed, !keys.isEmpty else { return }
    var open = Set(keys)
    await withCheckedContinuation { waiter in
      waiting += open.map { key in
        Waiting(key: key) {
          open.remove(key)
          if open.isEmpty { waiter.resume() }
        }
      }
      readLater.plan()
    }
  }

  /// Takes notifications that nobody has applied in time.
  func sweep() async {
    // What one sweep began may wait for the ledger still. Without Redis nobody could count what comes again.
    guard runs.count < Self.mostSwept, waiting.isEmpty, !runs.isClosed, dependencies.begun.isReady else { return }
    do {
      let overdue = try await dependencies.ledger.takeOverdue(
        of: context.publishers.all.map(\.id), limit: Self.mostSwept)
      guard !overdue.isEmpty else { return }
      waiting += overdue.map { Waiting(key: $0, isSuspect: true) {} }
      readLater.plan()
      context.log.warning("applying open notifications", ["notifications": .int(Int64(overdue.count))])
    } catch {
      context.log.ledgerFailure("open notifications could not be taken", error)
    }
  }

  /// Takes no more notifications. The ledger knows which are open.
  func close() {
    sweeps.close()
    runs.close()
  }

  /// Applies what has begun.
  func stop(within grace: Duration) async {
    close()
    let deadline = Deadline(after: grace)
    await sweeps.stop(within: deadline.left)
    // What came in this turn has begun, too.
    readLater.runIfPlanned()
    await runs.finish(within: deadline.left)
  }

  // MARK: One turn

  private func readWaiting() {
    // A notification may wait twice: its message came, and a sweep found it.
    let batch = Dictionary(grouping: waiting, by: \.key)
    waiting.removeAll()
    guard !batch.isEmpty else { return }
    runs.start { [self] in
      let ways = await ways(of: batch)
      if !ways.beside.isEmpty {
        if !dependencies.suspects.enterAtOnce() { await dependencies.suspects.enter() }
        await run(ways.beside, batch)
        dependencies.suspects.leave()
      }
      for suspect in ways.alone {
        let (key, crashes) = (suspect.key, suspect.crashes)
        try? await EventLoop.sleep(for: min(dependencies.suspects.rest, Self.longestRest))
        let log = context.log.with(["uuid": .string(key.uuid.text)])
        guard !Task.isCancelled,
          await dependencies.suspects.run(crashes: crashes, log, { await run([key], batch, isAlone: true) }) == .ran
        else {
          // If another suspect is first, the sweep finds this one again.
          done([key], batch)
          continue
        }
      }
    }
  }

  func done(_ keys: some Sequence<NotificationKey>, _ batch: [NotificationKey: [Waiting]]) {
    for key in keys { for each in batch[key] ?? [] { each.done() } }
  }

  func isSuspect(_ key: NotificationKey, _ batch: [NotificationKey: [Waiting]]) -> Bool {
    batch[key]?.contains(where: \.isSuspect) ?? false
  }

  /// Runs notifications: reads them, and applies each.
  private func run(_ keys: [NotificationKey], _ batch: [NotificationKey: [Waiting]], isAlone: Bool = false) async {
    var begun: Set<NotificationKey> = []
    do {
      try await count(keys.filter { isSuspect($0, batch) })
      let open = try await dependencies.ledger.open(keys)
      var (others, notHere): ([NotificationKey], [NotificationKey]) = ([], [])
      var notices: [NotificationNotice] = []
      for (key, one) in open {
        switch step(key, one.text) {
        case .purchase(let notification, let publisher):
          begun.insert(key)
          await merge(notification, key, one.source, publisher, batch, isAlone: isAlone)
        case .aboutNoPurchase(let notice):
          others.append(key)
          if let notice { notices.append(notice) }
        case .notHere: notHere.append(key)
        }
      }
      if !notHere.isEmpty { try await dependencies.ledger.putOff(notHere) }
      if !others.isEmpty { try await finish(others, notices) }
    } catch {
      // The sweep finds them.
      context.log.ledgerFailure("notifications could not be read", error)
    }
    let ended = keys.filter { !begun.contains($0) }
    await forget(ended.filter { isSuspect($0, batch) })
    done(ended, batch)
  }

  /// Merges what a notification proves: in this run if it is alone, and else in one of its own.
  private func merge(
    _ notification: VerifiedNotification, _ key: NotificationKey, _ source: KeptNotification.Source?,
    _ publisher: Publisher, _ batch: [NotificationKey: [Waiting]], isAlone: Bool
  ) async {
    let work: @LoopActor () async -> Void = { [self] in
      do {
        try await merge(notification, key, source, publisher)
      } catch {
        context.log.warning(
          "a notification could not be applied", ["uuid": .string(notification.uuid.text), "cause": .failure(error)])
      }
      if isSuspect(key, batch) { await forget([key]) }
      done([key], batch)
    }
    if isAlone { return await work() }
    dependencies.suspects.enterBeside()
    runs.start { [suspects = dependencies.suspects] in
      await work()
      suspects.leave()
    }
  }

  private func finish(_ keys: [NotificationKey], _ notices: [NotificationNotice]) async throws {
    let finished = try await dependencies.ledger.finish(
      keys, telling: notices, audience: context.publishers.audience, now: context.now(),
      traceparent: context.tracer.begin().description)
    metrics.applied.add(Double(finished.told), "told")
    metrics.applied.add(Double(finished.stored), "stored")
    for notice in finished.cut {
      context.log.warning(
        "only some customers of the download get an event about the withdrawn consent",
        [
          "uuid": .string(notice.uuid.text), "publisherId": .int(notice.publisherId.number),
          "told": .int(Int64(NotificationStore.mostCustomers)),
        ])
    }
    dependencies.publish(finished.takeTold())
  }

  // MARK: One notification

  private enum Step {
    /// A commit applies it.
    case purchase(VerifiedNotification, Publisher)
    /// It is done: it tells nothing about a purchase. It may tell something else.
    case aboutNoPurchase(NotificationNotice?)
    /// This worker cannot judge it. Another one may have a newer publisher's file; a sweep takes it again, later and
    /// later.
    case notHere
  }

  /// Verifies a notification, and decides what is next.
  private func step(_ key: NotificationKey, _ text: String) -> Step {
    guard let publisher = context.publishers[key.publisherId] else {
      context.log.warning(
        "a notification for a publisher without a file", ["publisherId": .int(key.publisherId.number)])
      metrics.applied.count("refused")
      return .notHere
    }
    guard case .accepted(let notification) = dependencies.verifier.notification(text, expecting: apps(of: publisher))
    else {
      // It was good when it came in. The publisher has given up the app since, or the row is not what we wrote.
      context.log.error("a kept notification is not accepted", ["uuid": .string(key.uuid.text)])
      metrics.applied.count("refused")
      return .notHere
    }
    if let fatal = context.faults.crashNotification, notification.originalTransactionId == fatal { abort() }
    if !notification.kind.isKnown { metrics.unknown.count() }
    guard notification.evidence.first != nil || !notification.defects.isEmpty else {
      return .aboutNoPurchase(NotificationNotice(notification, of: publisher.id))
    }
    return .purchase(notification, publisher)
  }

  private func merge(
    _ notification: VerifiedNotification, _ key: NotificationKey, _ source: KeptNotification.Source?,
    _ publisher: Publisher
  ) async throws {
    if !notification.defects.isEmpty { try await askApple(about: notification, publisher) }
    guard let purchase = notification.evidence.first?.key(of: publisher.id) else {
      return try await finish([key], [])
    }
    let update = PurchaseUpdate(
      purchase, notification.evidence,
      from: .notification(uuid: notification.uuid, reason: notification.kind.reason), publisher: publisher,
      isPast: source == .firstHistory, refund: notification.refund, traceparent: context.tracer.begin().description)
    let told = try await dependencies.apply(update)
    metrics.delay.observe(Double(max(0, context.now().subtracting(notification.signedDate))) / 1000)
    metrics.applied.count(told.isEmpty ? "silent" : "told")
    dependencies.publish(told)
    if notification.refund != nil { dependencies.onRefund() }
  }

  /// Lets Apple be asked about a purchase, because a part of the notification is no evidence although Apple signed it.
  private func askApple(about notification: VerifiedNotification, _ publisher: Publisher) async throws {
    guard let id = notification.originalTransactionId else { return }
    try await dependencies.hint(publisher.id, id, notification.origin.environment)
  }

  private func apps(of publisher: Publisher) -> AcceptedApps {
    if placesRevision != context.publishersRevision { (places, placesRevision) = ([:], context.publishersRevision) }
    if let known = places[publisher.id] { return known }
    let apps = AcceptedApps(publisher.acceptedAppList)
    places[publisher.id] = apps
    return apps
  }
}

extension NotificationRuns.Dependencies {
  /// Those of a worker.
  ///
  /// - Parameter onRefund: called when a commit has taken what a notification tells about a refund.
  init(_ parts: WorkerParts, onRefund: @escaping @LoopActor () -> Void) {
    let timers = Timers(parts.ledger.postgres)
    self.init(
      context: parts.context, ledger: NotificationStore(parts.ledger.postgres),
      apply: { [commits = parts.commits] in try await commits.apply($0) },
      publish: { [outlet = parts.outlet] in outlet.publish($0) },
      hint: { _ = try await timers.hint($0, [$1], in: [$2]) }, verifier: parts.verification.verifier,
      suspects: parts.jobs.suspects, begun: parts.begun, onRefund: onRefund,
      isReady: { [ledger = parts.ledger] in ledger.isReady })
  }
}
