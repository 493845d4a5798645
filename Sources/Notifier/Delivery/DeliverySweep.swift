import Domain
import EventLoop
import Ledger
import Observability

/// Enqueues due deliveries again that no queue holds any more, for example because somebody wiped the broker.
///
/// While deliveries wait in the queue, an overdue one is most likely among them. So the sweep acts at once only if the
/// queue is empty. Otherwise it acts only on deliveries that are long overdue. A delivery that is in a queue twice does
/// no harm: its attempt is recorded once, and the other copy finds the record.
@LoopActor
struct DeliverySweep {
  /// Takes deliveries out of the ledger that are overdue by this long.
  let overdue: @LoopActor (Duration) async throws -> OverdueDeliveries
  /// How many deliveries wait in the queue.
  let waiting: @LoopActor () async throws -> Int
  let publish: @LoopActor (Delivery) async throws -> Void
  /// How long after its time a delivery is overdue.
  let after: Duration
  let log: Log

  /// The most batches of one look. The next look takes the rest.
  private static let most = 20

  /// What one look did.
  struct Result: Equatable {
    var enqueued = 0
    var lost = 0
  }

  /// Looks once.
  func run() async -> Result {
    var result = Result()
    do {
      let overdueBy = try await waiting() > 0 ? after * 10 : after
      for _ in 0..<Self.most {
        let found = try await overdue(overdueBy)
        result.lost += found.lost
        if found.lost > 0 {
          log.error("the ledger no longer has the events of some deliveries", ["deliveries": .int(Int64(found.lost))])
        }
        for delivery in found.deliveries {
          try await publish(delivery)
          result.enqueued += 1
        }
        if !found.isFull { break }
      }
    } catch {
      log.warning("sweep failed", ["cause": .failure(error)])
    }
    if result.enqueued > 0 { log.warning("enqueued again", ["deliveries": .int(Int64(result.enqueued))]) }
    return result
  }
}
