import Domain
import Postgres

/// The key of a synchronization in the ledger: it finalizes once.
struct SynchronizationKey: Hashable {
  let publisherId: PublisherId
  let id: SynchronizationId
  let transactionId: TransactionId
  let customerId: CustomerId
}

extension SynchronizationKey {
  init(_ job: Job) {
    self.init(
      publisherId: job.publisherId, id: job.synchronizationId, transactionId: job.transactionId,
      customerId: job.customerId)
  }

  /// The key of the same synchronization after its customer's erasure.
  var erased: SynchronizationKey {
    SynchronizationKey(
      publisherId: publisherId, id: id, transactionId: transactionId,
      customerId: ErasedCustomer.standIn(for: CustomerKey(publisherId: publisherId, id: customerId)))
  }
}

/// A synchronization as the ledger keeps it.
struct KeptSynchronization {
  let key: SynchronizationKey
  let synchronization: Synchronization
  /// The id of its event, once finalized.
  let eventId: EventId?

  /// Reads the rows of a result.
  static func all(_ rows: PostgresRows) throws -> [KeptSynchronization] {
    try SynchronizationRow.table.records(rows).map(KeptSynchronization.init)
  }

  private init(_ row: SynchronizationRow) throws {
    key = SynchronizationKey(
      publisherId: row.publisherId, id: row.id, transactionId: row.transactionId, customerId: row.customerId)
    var synchronization = Synchronization(
      id: row.id, publisherId: row.publisherId, customerId: row.customerId, transactionId: row.transactionId,
      kind: row.kind, status: row.status)
    if row.status == .finalized {
      guard let result = row.result, let version = row.version, let time = row.finalizedAt else {
        throw UnreadableRecord("the result of synchronization \(row.id)")
      }
      (synchronization.result, synchronization.version, synchronization.finalizedAt) = (result, version, time)
    }
    self.synchronization = synchronization
    eventId = row.eventId
  }
}
