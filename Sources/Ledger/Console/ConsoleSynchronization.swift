public import Domain
import JSON
import Postgres

/// A synchronization of the ledger, for the console. Times are milliseconds since 1970.
public struct ConsoleSynchronization: Sendable, Equatable {
  public let publisherId: PublisherId
  public let id: SynchronizationId
  public let transactionId: TransactionId
  /// `nil` after the customer's erasure.
  public let customerId: CustomerId?
  /// Such as `registration`.
  public let kind: String
  /// The purchase, if the ledger knows the transaction.
  public let purchase: PurchaseKey?
  /// Its next run, while it is not finalized.
  public let dueAt: Int64?
  /// Where the list goes on behind it; `nil` outside of a list.
  public let place: ConsolePlace?
  /// When it was accepted, while it is not finalized.
  public let registeredAt: Int64?
  /// Where its list of open synchronizations is; `nil` once it is finalized, and for a job of a newer process.
  public let job: Job?
  public let finalizedAt: Int64?
  /// How it ended.
  public let result: String?
  /// The event that told the result.
  public let eventId: EventId?

  /// Creates a synchronization.
  public init(
    publisherId: PublisherId, id: SynchronizationId, transactionId: TransactionId, customerId: CustomerId?,
    kind: String = "registration", purchase: PurchaseKey? = nil, dueAt: Int64? = nil, registeredAt: Int64? = nil,
    job: Job? = nil, finalizedAt: Int64? = nil, result: String? = nil, eventId: EventId? = nil,
    place: ConsolePlace? = nil
  ) {
    (self.publisherId, self.id, self.transactionId, self.customerId) = (publisherId, id, transactionId, customerId)
    (self.kind, self.purchase, self.dueAt, self.registeredAt) = (kind, purchase, dueAt, registeredAt)
    (self.job, self.finalizedAt, self.result, self.eventId) = (job, finalizedAt, result, eventId)
    self.place = place
  }

  /// Reads a row.
  ///
  /// - Parameters:
  ///   - doors: those of this build.
  ///   - isInList: whether the row has its place.
  init(_ row: PostgresRow, doors: DoorCatalog, isInList: Bool = false) throws {
    let customer: CustomerId? = try row.id("customer_id")
    let (publisher, text) = (try row.id("publisher_id") ?? 0, try row.bytes("job"))
    let environment: Environment? = try row.id("environment")
    let original: OriginalTransactionId? = try row.id("original_transaction_id")
    self.init(
      publisherId: publisher, id: try row.id("id") ?? "", transactionId: try row.id("transaction_id") ?? "",
      customerId: customer.flatMap { $0.isErased || $0.text.isEmpty ? nil : $0 }, kind: try row.text("kind") ?? "",
      purchase: environment.flatMap { environment in
        original.map { PurchaseKey(publisherId: publisher, environment: environment, originalTransactionId: $0) }
      }, dueAt: try row.time("due_at"),
      registeredAt: text.flatMap { try? JSONObject(JSONText($0, limits: .own)).int64("registeredAt") },
      job: text.flatMap { try? Job(JSONText($0, limits: .own), doors: doors) },
      finalizedAt: try row.time("finalized_at"), result: try row.text("result"), eventId: try row.id("event_id"),
      place: isInList ? ConsolePlace(try row.int64("place") ?? 0, publisher, try row.text("id") ?? "") : nil)
  }
}
