import AMQP
import EventLoop
import Service

/// A consumer that takes deliveries only while the ledger can be used: without it nothing can be finished.
///
/// What it has given out before waits for the ledger.
@LoopActor
final class LedgerConsumer: RoleService {
  let readiness: [ReadinessCheck]
  private let consumer: AMQPConsumer
  private let ledger: RoleLedger
  private var phase = ServicePhase.new

  /// - Parameter name: that of its line of `/readyz`; `nil` for none.
  init(_ consumer: AMQPConsumer, _ ledger: RoleLedger, _ name: String? = nil) {
    (self.consumer, self.ledger) = (consumer, ledger)
    readiness = name.map { [ReadinessCheck($0) { consumer.trouble }] } ?? []
    ledger.follow { [weak self] in self?.follow() }
  }

  func start() {
    guard phase.start() else { return }
    follow()
    consumer.start()
  }

  private func follow() {
    guard phase == .running else { return }
    if ledger.isReady { consumer.resume() } else { consumer.pause() }
  }

  func close() async { if phase.close() { await consumer.cancel() } }

  /// Closes the channel, so that the broker has taken every acknowledgement.
  func stop(within grace: Duration) async { if phase.stop() { await consumer.stop() } }

  /// Opens another connection if jobs wait at the broker and none has come for a minute. With nothing in hand, a worker
  /// for which no job comes is one that the broker has lost sight of.
  func jobsWait() { consumer.reopenIfIdle(for: .seconds(60)) }
}
