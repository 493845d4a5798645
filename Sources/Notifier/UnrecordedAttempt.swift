import Domain
import EventLoop
import Ledger
import Observability
import Postgres

/// An attempt that has ended and that the ledger does not have yet.
struct UnrecordedAttempt: Hashable {
  let event: EventId
  let endpoint: EndpointId
  let round: DeliveryRound
  let attempt: Int

  init(_ delivery: Delivery, at endpoint: EndpointId) {
    event = delivery.eventId
    self.endpoint = endpoint
    round = delivery.round
    attempt = delivery.attempt
  }
}

/// The failures to write records: one line in the log for each outage, not one for each try.
@LoopActor
final class RecordFailures {
  private let log: Log
  private let onMissingPartition: @LoopActor () -> Void
  private var last: String?

  /// - Parameter onMissingPartition: called when the log of attempts has no place for today.
  init(_ log: Log, onMissingPartition: @escaping @LoopActor () -> Void) {
    (self.log, self.onMissingPartition) = (log, onMissingPartition)
  }

  func add(_ error: PostgresError) {
    if error.isMissingPartition { onMissingPartition() }
    let text = "\(error)"
    guard text != last else { return }
    last = text
    log.warning("ends of attempts could not be recorded", ["cause": .failure(error)])
  }
}
