import AMQP
import Configuration
import Domain
import EventLoop
import Ledger
import Messaging
import Observability
import Service

/// Decides by value whether a sweep of deliveries may look.
///
/// After an outage of the ledger, notifiers have records in hand that it is about to get. So a sweep waits until it has
/// answered for as long as a delivery may be overdue.
struct SweepPatience {
  private let time: Duration
  /// Since when the ledger has answered; `nil` while it does not.
  private var readySince: ContinuousClock.Instant?

  /// - Parameter time: how long the ledger must have answered.
  init(_ time: Duration) { self.time = time }

  /// Takes what the caller knows of the ledger.
  mutating func mayLook(isReady: Bool, at now: ContinuousClock.Instant) -> Bool {
    guard isReady else {
      readySince = nil
      return false
    }
    let since = readySince ?? now
    readySince = since
    return now - since >= time
  }
}

extension DeliverySweep {
  /// The most deliveries of one batch.
  private static let batch = 500

  /// The chore of a notifier. Notifiers need not agree who does it: the ledger gives each overdue delivery to one
  /// sweep.
  static func chore(_ parts: NotifierParts) -> Chore {
    let (context, metrics, deliveries) = (parts.context, parts.metrics, parts.deliveries)
    let (publisher, topology) = (parts.publisher, parts.topology)
    let after = context.settings.notifier.sweepAfter
    var patience = SweepPatience(after)
    return Chore(
      every: context.settings.notifier.sweepInterval, .dropped,
      isReady: { patience.mayLook(isReady: deliveries.isReady, at: .now) && publisher.isReady },
      look: {
        guard let channel = publisher.channel else { return }
        let queues = context.deliveryQueues
        let sweep = DeliverySweep(
          overdue: { try await deliveries.overdue(by: $0, limit: batch) },
          waiting: {
            var waiting = 0
            for crowd in EventCrowd.allCases {
              waiting += Int(try await channel.declareQueue(topology.deliveries(crowd), passive: true).messages)
            }
            return waiting
          },
          publish: { try await publisher.publish($0.message(queue: queues.next(of: $0.publisherId))) }, after: after,
          log: context.log)
        let result = await sweep.run()
        metrics.swept.add(Double(result.enqueued))
        metrics.lost.add(Double(result.lost))
        do {
          let dead = topology.deadDeliveries
          metrics.deadMessages.set(Double(try await channel.depth(of: dead)), dead)
        } catch {
          context.log.debug("the dead queue could not be counted", ["cause": .failure(error)])
        }
      })
  }
}
