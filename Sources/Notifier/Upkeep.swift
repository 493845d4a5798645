import AMQP
import Configuration
import EventLoop
import Ledger
import Messaging
import Observability
import Service

/// What a notifier does from time to time, beside deliveries: the sweep, and the partitions of the log.
///
/// Notifiers need not agree who does it: the ledger gives each overdue delivery to one sweep, and the log to one
/// notifier at a time.
@LoopActor
final class Upkeep {
  private let context: RoleContext
  private let deliveries: DeliveryLedger
  private let publisher: AMQPPublisher
  private let topology: Topology
  private let metrics: NotifierMetrics
  private var sweepTimer: LoopTimer?
  private var logTimer: LoopTimer?
  private var sweeping: Task<Void, Never>?
  private var keeping: Task<Void, Never>?
  /// Since when the ledger has answered; `nil` while it does not.
  private var readySince: ContinuousClock.Instant?
  /// When the log has been looked after; `nil` when it must be soon.
  private var keptAt: ContinuousClock.Instant?

  /// The most deliveries of one batch of the sweep.
  private static let batch = 500
  /// How often the log is looked after.
  private static let keepingInterval: Duration = .seconds(600)

  init(
    _ context: RoleContext, _ deliveries: DeliveryLedger, _ publisher: AMQPPublisher, _ topology: Topology,
    _ metrics: NotifierMetrics
  ) {
    self.context = context
    self.deliveries = deliveries
    self.publisher = publisher
    self.topology = topology
    self.metrics = metrics
  }

  func start() {
    let interval = context.settings.notifier.sweepInterval
    let sweepTimer = LoopTimer { [weak self] in self?.sweep() }
    sweepTimer.start(after: interval * Double.random(in: 0.5...1), every: interval)
    self.sweepTimer = sweepTimer
    let logTimer = LoopTimer { [weak self] in self?.keepLog() }
    logTimer.start(after: .milliseconds(100), every: .seconds(1))
    self.logTimer = logTimer
  }

  func stop() async {
    for timer in [sweepTimer, logTimer] { timer?.close() }
    (sweepTimer, logTimer) = (nil, nil)
    for task in [sweeping, keeping] { task?.cancel() }
  }

  /// Looks after the log at the next tick: it has no place for today.
  func keepLogSoon() { keptAt = nil }

  private func keepLog() {
    if let keptAt, ContinuousClock.now - keptAt < Self.keepingInterval { return }
    guard keeping == nil, deliveries.isReady else { return }
    keptAt = .now
    keeping = Task { @LoopActor in
      defer { keeping = nil }
      do {
        // Another notifier may be at it.
        guard let done = try await deliveries.keepLog(for: context.settings.notifier.logRetention) else { return }
        guard !done.isEmpty else { return }
        context.log.info(
          "looked after the log of attempts",
          ["created": .int(Int64(done.created)), "dropped": .int(Int64(done.dropped))])
      } catch {
        context.log.warning("the log of attempts could not be looked after", ["cause": .failure(error)])
        keptAt = .now - Self.keepingInterval + .seconds(10)
      }
    }
  }

  private func sweep() {
    let after = context.settings.notifier.sweepAfter
    guard deliveries.isReady else {
      readySince = nil
      return
    }
    let since = readySince ?? .now
    readySince = since
    // After an outage of the ledger, notifiers have records in hand that it is about to get.
    guard ContinuousClock.now - since >= after else { return }
    guard sweeping == nil, publisher.isReady, let channel = publisher.channel else { return }
    let sweep = DeliverySweep(
      overdue: { [deliveries] in try await deliveries.overdue(by: $0, limit: Self.batch) },
      waiting: { [topology] in Int(try await channel.declareQueue(topology.deliveries, passive: true).messages) },
      publish: { [publisher, topology] in try await publisher.publish($0.message(queue: topology.deliveries)) },
      after: after, log: context.log)
    sweeping = Task { @LoopActor in
      defer { sweeping = nil }
      let result = await sweep.run()
      metrics.swept.add(Double(result.enqueued))
      metrics.lost.add(Double(result.lost))
      do {
        let dead = topology.deadDeliveries
        metrics.deadMessages.set(Double(try await channel.depth(of: dead)), dead)
      } catch {
        context.log.debug("the queue of the dead could not be counted", ["cause": .failure(error)])
      }
    }
  }
}
