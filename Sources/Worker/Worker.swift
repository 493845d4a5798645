import AMQP
import Configuration
package import Domain
public import EventLoop
import HTTP2
package import Import
import Ledger
import Messaging
import Postgres
public import Service

/// The role that runs jobs: lease, Apple, commit, events, acknowledgement.
@LoopActor
public final class Worker: Role {
  let services: ServiceGroup

  /// Notifications that one worker applies at once.
  private static let notificationsAtOnce = 200

  /// Creates a worker that is not started.
  ///
  /// - Parameter importVerifier: makes the verifier of what Apple has signed, for the imports of a publisher.
  /// - Throws: `TrustedRoots.Unreadable` when a configured root is no certificate; `PostgresEndpoint.InvalidURL`
  ///   without a usable `ledger.url`.
  package init(
    _ context: RoleContext, importVerifier: @escaping @LoopActor (Publisher) throws -> any ImportVerifier
  ) throws {
    let parts = try WorkerParts(context)
    let (ledger, commits, running) = (parts.ledger, parts.commits, parts.running)
    let publisher = ServiceAdapter(parts.publisher, "rabbitmq publish")

    let jobs = JobRuns(JobRuns.Dependencies(parts), running)
    let line = LineRuns(LineRuns.Dependencies(parts), running)
    let refunds = RefundRuns(RefundRuns.Dependencies(parts))
    let notifications = NotificationRuns(NotificationRuns.Dependencies(parts, onRefund: { refunds.hint() }))
    // Of the jobs in bulk more come than have places: the others join the line, so that no publisher's stop the queue.
    let shares = parts.jobs.places.shares
    let jobConsumer = LedgerConsumer(
      parts.consumer(
        "consumes", "consume", of: parts.topology.jobs, prefetch: shares.all.places
      ) { jobs.take($0) }, ledger, "rabbitmq consume")
    let bulkConsumer = LedgerConsumer(
      parts.consumer(
        "consumes bulk", "consume_bulk", of: parts.topology.jobs(.bulk), prefetch: 2 * shares.bulk.places
      ) { jobs.take($0) }, ledger)
    let notificationConsumer = LedgerConsumer(
      parts.consumer(
        "notifications", "notifications", of: parts.topology.notifications, prefetch: Self.notificationsAtOnce
      ) { notifications.take($0) }, ledger)

    let checks =
      parts.redis.readiness + ledger.readiness + publisher.readiness + jobConsumer.readiness + parts.places.readiness
      + jobs.readiness + context.publisherReadiness
    services = ServiceGroup([
      // It stops last, and sends the last spans.
      TraceExporter(context), HealthServer(context, at: context.settings.worker.listen, checks: checks),
      // The clients. They close in the reverse order: what the broker has confirmed to the publisher and to the
      // subscribers leaves the outbox before the ledger closes.
      parts.redis,
      FleetHeart(context, parts.redis, checks: checks) { [places = parts.places] in places.refusedApps },
      ServiceAdapter(stop: { [apple = parts.apple] _ in apple.close() }), parts.jobs.heldLeases, ledger,
      ServiceAdapter(stop: { _ in await commits.flushConfirmed() }), parts.subscribers, publisher,
      // The channels close when every acknowledgement is sent. No delivery comes after the first round of the stop.
      notificationConsumer, bulkConsumer, jobConsumer, ledger.schema,
      // What only repairs and counts. Nothing waits for it.
      QueueDepths.chore(
        context, parts.publisher, of: JobLane.allCases.map(parts.topology.jobs) + [parts.topology.notifications]),
      OutboxLook.chore(parts), AsideLook.chore(parts), RulesLook.chore(parts), RetentionLook.chore(parts),
      StatisticsLook.chore(parts),
      Sweep.chore(parts) { if running.count == 0 { ($0 == .bulk ? bulkConsumer : jobConsumer).jobsWait() } },
      // What commits. After the last of it, no commit begins: what still waits for the ledger goes back to the broker.
      ServiceAdapter(stop: { _ in commits.stop() }), parts.outlet.lost,
      OwedEventRuns(OwedEventRuns.Dependencies(parts)), refunds, TimerRuns(TimerRuns.Dependencies(parts)),
      AccessEnds(AccessEnds<Grant>.Dependencies(parts)),
      AccessEnds(AccessEnds<SandboxOverride>.Dependencies(parts)),
      ImportRuns(ImportRuns.Dependencies(parts, verifier: importVerifier)),
      notifications, HistoryRuns(HistoryRuns.Dependencies(parts, notifications)), line, jobs,
    ])
  }

  public func start() async throws { try await services.start() }

  public func stop(grace: Duration) async { await services.stop(within: grace) }
}
