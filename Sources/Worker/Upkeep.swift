import AMQP
import Configuration
import EventLoop
import Ledger
import Messaging
import Observability
import Postgres
import Service
import Store

/// What a worker does from time to time, beside jobs: it looks for work that nobody has, deletes what is too old, and
/// follows changed rules.
@LoopActor
final class Upkeep {
  private let context: RoleContext
  private let store: PurchaseStore
  private let publisher: AMQPPublisher
  private let topology: Topology
  private let ledger: PostgresClient
  private let outlet: EventOutlet
  private let metrics: WorkerMetrics
  private let reevaluation: Reevaluation
  /// Called when a sweep has found that jobs wait at the broker.
  var jobsWait: @LoopActor () -> Void = {}
  private var timer: LoopTimer?
  private var sweeping: Task<Void, Never>?

  /// Old notifications that one sweep deletes. Each has some 20 KB, outside of the table.
  private static let mostNotificationsDeleted = 2000

  init(
    _ context: RoleContext, _ store: PurchaseStore, _ publisher: AMQPPublisher, _ topology: Topology,
    _ ledger: PostgresClient, _ outlet: EventOutlet, _ metrics: WorkerMetrics
  ) {
    self.context = context
    self.store = store
    self.publisher = publisher
    self.topology = topology
    self.ledger = ledger
    self.outlet = outlet
    self.metrics = metrics
    reevaluation = Reevaluation(ledger, now: { context.now() })
  }

  func start() {
    let interval = context.settings.worker.sweepInterval
    let timer = LoopTimer { [weak self] in self?.sweep() }
    timer.start(after: interval * Double.random(in: 0.5...1), every: interval)
    self.timer = timer
  }

  /// Begins no more sweeps.
  func close() {
    timer?.close()
    timer = nil
  }

  /// Ends a sweep that still runs.
  func cancel() { sweeping?.cancel() }

  private func sweep() {
    guard sweeping == nil, store.isReady, publisher.isReady, let channel = publisher.channel else {
      return
    }
    let interval = context.settings.worker.sweepAfter
    let sweep = Sweep(
      dueJobs: { [store, doors = context.doors] in
        try await store.dueJobs(limit: 500, lookAgainAfter: interval, overdueBy: $0, doors: doors)
      },
      waiting: { [topology, jobsWait] in
        let jobs = try await channel.declareQueue(topology.jobs, passive: true).messages
        if jobs > 0 { jobsWait() }
        return Int(jobs)
      },
      publish: { [publisher] in try await publisher.publish($0) }, queue: topology.jobs, interval: interval,
      log: context.log)
    sweeping = Task { @LoopActor in
      metrics.swept.add(Double(await sweep.run()))
      await sweepLedger()
      await deleteOldest()
      await reevaluate()
      await countAside(channel)
      sweeping = nil
    }
  }

  /// Counts what waits for a person.
  private func countAside(_ channel: AMQPChannel) async {
    do {
      metrics.deadMessages.set(Double(try await channel.depth(of: topology.deadJobs)), topology.deadJobs)
    } catch {
      context.log.debug("dead jobs could not be counted", ["cause": .failure(error)])
    }
    guard ledger.isReady else { return }
    do {
      metrics.putAside.set(Double(try await NotificationStore(ledger).countPutAside()))
    } catch {
      context.log.ledgerFailure("what is put aside could not be counted", error)
    }
  }

  /// Tells the entitlements that changed rules of a publisher change.
  private func reevaluate() async {
    guard ledger.isReady else { return }
    do {
      try await reevaluation.run(context.publishers) { [outlet] in outlet.publish($0) }
    } catch {
      context.log.warning("changed rules could not be evaluated to the end", ["cause": .failure(error)])
    }
  }

  /// Deletes what the ledger need not remember any more. A full batch is followed by another one at the next sweep.
  private func deleteOldest() async {
    guard ledger.isReady else { return }
    do {
      _ = try await Retention(ledger).deleteOldest(
        synchronizations: context.settings.worker.statusRetention, events: context.settings.notifier.logRetention,
        limit: 10_000)
      let notifications = try await Retention(ledger).deleteNotifications(
        after: context.settings.worker.notificationRetention, limit: Self.mostNotificationsDeleted)
      metrics.deletedNotifications.add(Double(notifications))
    } catch {
      context.log.warning("old rows could not be deleted", ["cause": .failure(error)])
    }
  }

  /// Enqueues jobs again that waited for long, and that neither the broker nor Redis has any more.
  private func sweepLedger() async {
    guard ledger.isReady else { return }
    do {
      let overdue = context.settings.worker.sweepAfter
      let jobs = try await WaitingSynchronizations(ledger).takeOverdue(by: overdue, limit: 500, doors: context.doors)
      for job in jobs { try await publisher.publish(JobMessage.message(job, attempt: 1, queue: topology.jobs)) }
      metrics.swept.add(Double(jobs.count))
    } catch {
      context.log.warning("sweep of the ledger failed", ["cause": .failure(error)])
    }
  }
}
