import Domain
import Formats
import JSON
import Postgres

/// The key of a synchronization in the ledger: it finalizes once.
struct SynchronizationKey: Hashable {
  let publisherId: Int64
  let id: ExactText
  let transactionId: ExactText
  let customerId: ExactText

  init(publisherId: Int64, id: String, transactionId: String, customerId: String) {
    self.publisherId = publisherId
    (self.id, self.transactionId, self.customerId) = (id.exact, transactionId.exact, customerId.exact)
  }

  init(_ job: Job) {
    self.init(
      publisherId: job.publisherId, id: job.synchronizationId, transactionId: job.transactionId,
      customerId: job.customerId)
  }

  /// The key of the same synchronization after its customer's erasure.
  var erased: SynchronizationKey {
    SynchronizationKey(
      publisherId: publisherId, id: id.text, transactionId: transactionId.text,
      customerId: ErasedCustomer.standIn(for: CustomerKey(publisherId: publisherId, id: customerId.text)))
  }
}

/// A row of `synchronizations`.
struct KeptSynchronization {
  let key: SynchronizationKey
  let synchronization: Synchronization
  /// The id of its event, once finalized.
  let eventId: String?

  /// The columns of a row of `table`.
  static func columns(_ table: String) -> String {
    [
      "publisher_id", "id", "transaction_id", "customer_id", "kind", "status", "data", "version", "event_id",
      "finalized_at",
    ].map { "\(table).\($0)" }.joined(separator: ", ")
  }

  init(_ row: PostgresRow) throws {
    guard let publisher = row.int64(0), let id = row.text(1), let transaction = row.text(2), let customer = row.text(3),
      let kind = row.text(4).flatMap(Job.Kind.init(rawValue:)),
      let status = row.text(5).flatMap(Synchronization.Status.init(rawValue:))
    else { throw UnreadableRecord("synchronization \(row.text(1) ?? "")") }
    key = SynchronizationKey(publisherId: publisher, id: id, transactionId: transaction, customerId: customer)
    var synchronization = Synchronization(
      id: id, publisherId: publisher, customerId: customer, transactionId: transaction, kind: kind, status: status)
    if status == .finalized {
      guard let data = row.bytes(6), let outcome = try? Outcome(JSONText(data, limits: .own)),
        let version = row.int64(7),
        let time = row.time(9)
      else { throw UnreadableRecord("the result of synchronization \(id)") }
      synchronization.conclusion = Conclusion(outcome: outcome, version: version, finalizedAt: time)
    }
    self.synchronization = synchronization
    eventId = row.text(8)
  }
}
