import Domain
import Formats
import JSON
import Postgres

/// A row of `synchronizations`.
struct SynchronizationRow: ReadableRecord {
  var publisherId: PublisherId = 0
  var id: SynchronizationId = ""
  var transactionId: TransactionId = ""
  /// The stand-in after the customer's erasure.
  var customerId: CustomerId = ""
  var kind = Job.Kind.registration
  var status = Synchronization.Status.retrying
  /// While it is not finalized.
  var job: [UInt8]?
  /// Its next run, while it is not finalized, in milliseconds since 1970.
  var dueAt: Int64?
  /// Once it is finalized.
  var result: SynchronizationResult?
  var version: Int64?
  var eventId: EventId?
  var finalizedAt: Int64?

  static let blank = SynchronizationRow()
  var title: String { "synchronization \(id)" }

  static let table = Table<SynchronizationRow>(
    "synchronizations", key: ["publisher_id", "id", "transaction_id", "customer_id"]
  ) { columns in
    columns.required("publisher_id", .publisher, { $0.publisherId }, { $0.publisherId = $1 })
    columns.required(
      "id", .id(of: SynchronizationId.self), { $0.id }, { $0.id = $1 }, export: "synchronizationId")
    columns.required(
      "transaction_id", .id(of: TransactionId.self), { $0.transactionId }, { $0.transactionId = $1 },
      export: "transactionId")
    columns.required(
      "customer_id", .id(of: CustomerId.self), { $0.customerId }, { $0.customerId = $1 }, person: .standIn)
    columns.required("kind", .name(of: Job.Kind.self), { $0.kind }, { $0.kind = $1 }, export: "kind")
    columns.required(
      "status", .name(of: Synchronization.Status.self), { $0.status }, { $0.status = $1 }, export: "status")
    // A job stays, since it was accepted. Its run finds that the customer is erased.
    columns.written(
      "job", .bytea, isNullable: true, export: "job",
      person: .rewritten(
        """
        CASE WHEN status <> 'finalized'
          THEN convert_to((convert_from(job, 'UTF8')::jsonb - 'ipAddress' - 'attributes')::text, 'UTF8') END
        """)
    ) { $0.job }
    columns.written("due_at", .timestamptz, isNullable: true) { $0.dueAt }
    columns.written("result", .text, isNullable: true, export: "result") { $0.result?.code.rawValue }
    columns.optional(
      "data", .bytea, { $0.result?.encoded },
      { $0.result = try $1.map { try SynchronizationResult(JSONText($0, limits: .own)) } }, export: "data")
    columns.optional("version", .bigint, { $0.version }, { $0.version = $1 }, export: "version")
    columns.optional("event_id", .id(of: EventId.self), { $0.eventId }, { $0.eventId = $1 })
    columns.optional(
      "finalized_at", .timestamptz, { $0.finalizedAt }, { $0.finalizedAt = $1 }, export: "finalizedAt")
  }

  /// What a finalization writes.
  static let finalized = table.only(
    "kind", "status", "result", "data", "version", "event_id", "finalized_at")
  /// What keeps a synchronization that waits.
  static let waiting = table.only("kind", "status", "job", "due_at")
  static let keys = table.only()

  /// A finalized synchronization under its key.
  struct FinalizedRow {
    let key: SynchronizationKey
    /// The key that its row has now, if it has one.
    let waitingKey: SynchronizationKey?
    /// The key with the id of a customer who is erased by now, unless the row itself has it.
    let namedKey: SynchronizationKey?
    let synchronization: Synchronization

    var row: SynchronizationRow {
      var row = SynchronizationRow(key)
      (row.kind, row.status, row.eventId) = (synchronization.kind, .finalized, Event.id(of: synchronization))
      if let result = synchronization.result {
        (row.result, row.version, row.finalizedAt) = (result, synchronization.version, synchronization.finalizedAt)
      }
      return row
    }
  }

  /// A synchronization that waits, with its job.
  struct Waiting {
    private(set) var key: SynchronizationKey
    private(set) var job: Job
    /// Milliseconds since 1970.
    let dueAt: Int64
    /// The key with the id of a customer who is erased by now: a row that was written beside the erasure may have it.
    private(set) var namedKey: SynchronizationKey?

    init(_ job: Job, until dueAt: Int64) {
      (key, self.job, self.dueAt) = (SynchronizationKey(job), job, dueAt)
    }

    /// The same as an erasure leaves it: the stand-in names the customer, and the job has no address.
    var withoutPerson: Waiting {
      var waiting = self
      (waiting.key, waiting.namedKey, waiting.job) = (key.erased, key, job.withoutAddress)
      return waiting
    }

    var row: SynchronizationRow {
      var row = SynchronizationRow(key)
      (row.kind, row.job, row.dueAt) = (job.kind, job.encoded, dueAt)
      return row
    }

    /// In the order of the keys. If a key is there twice, the last one counts.
    static func sorted(_ all: [Waiting]) -> [Waiting] {
      Dictionary(all.map { ($0.key, $0) }) { $1 }.sorted { $0.key < $1.key }.map(\.value)
    }
  }

  /// Divides finalized synchronizations into those without a row and those with one, in key order.
  static func split(
    _ all: [Synchronization], _ waiting: Set<SynchronizationKey>
  ) -> (new: [FinalizedRow], waiting: [FinalizedRow]) {
    let rows = all.map { synchronization in
      let key = SynchronizationKey(
        publisherId: synchronization.publisherId, id: synchronization.id,
        transactionId: synchronization.transactionId, customerId: synchronization.customerId)
      // A row that stays does not name an erased customer.
      let isErased = synchronization.result?.code == .customerErased
      let waitingKey = waiting.isEmpty ? nil : [key.erased, key].first { waiting.contains($0) }
      return FinalizedRow(
        key: isErased ? key.erased : key, waitingKey: waitingKey,
        namedKey: isErased && waitingKey != key ? key : nil, synchronization: synchronization)
    }.sorted { $0.key < $1.key }
    return (rows.filter { $0.waitingKey == nil }, rows.filter { $0.waitingKey != nil })
  }

  /// The parameters of ``update``.
  static func updates(_ rows: [FinalizedRow]) -> [PostgresParameter] {
    finalized.parameters(rows.map(\.row)) + [.ids(rows.map { ($0.waitingKey ?? $0.key).customerId })]
  }

  /// Two runs may finalize one synchronization at the same time. The second one fails, its batch runs again, and finds
  /// the first one's result.
  static let insert = finalized.insertUnnamed("insert synchronizations")

  /// The rows are locked. The row of an erased customer gets the stand-in for the customer.
  static let update = PostgresStatement(
    "update synchronizations",
    """
    UPDATE synchronizations t SET job = NULL, due_at = NULL, customer_id = n.customer_id, \(finalized.assignments)
    FROM \(finalized.source(adding: ("waiting_customer_id", "text")))
    WHERE t.publisher_id = n.publisher_id AND t.id = n.id AND t.transaction_id = n.transaction_id
      AND t.customer_id = n.waiting_customer_id
    """)

  /// Finds a finalized synchronization by its key, and by the key that it has after its customer's erasure.
  static let find = PostgresStatement(
    "find synchronization",
    """
    SELECT \(table.selected("s")) FROM synchronizations s
    WHERE s.publisher_id = $1 AND s.id = $2 AND s.transaction_id = $3 AND s.customer_id = ANY($4)
      AND s.status = 'finalized'
    """)

  /// Takes jobs whose run is overdue, and gives them a new time, so that one sweep has each of them at a time.
  static let takeOverdue = PostgresStatement(
    "take overdue synchronizations",
    """
    WITH due AS (
      SELECT publisher_id, id, transaction_id, customer_id FROM synchronizations
      WHERE status <> 'finalized' AND due_at < now() - $1 * interval '1 millisecond'
      ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED)
    UPDATE synchronizations s SET due_at = now() FROM due
    WHERE s.publisher_id = due.publisher_id AND s.id = due.id AND s.transaction_id = due.transaction_id
      AND s.customer_id = due.customer_id
    RETURNING s.job
    """)

  /// Deletes waiting synchronizations that still name an erased customer. The rows are locked.
  static let forget = PostgresStatement(
    "forget named synchronizations",
    """
    DELETE FROM synchronizations t USING \(keys.source) WHERE \(keys.isSame) AND t.status <> 'finalized'
    """)

  /// Keeps synchronizations that wait for more than 30 s: their jobs may get lost together with Redis' record.
  static let wait = PostgresStatement(
    "keep waiting synchronizations",
    """
    INSERT INTO synchronizations AS t (\(waiting.names)) SELECT * FROM \(waiting.source)
    ON CONFLICT (publisher_id, id, transaction_id, customer_id) DO UPDATE SET job = excluded.job, due_at = excluded.due_at
      WHERE t.status <> 'finalized'
    """)
}

extension SynchronizationRow {
  init(_ key: SynchronizationKey) {
    (publisherId, id) = (key.publisherId, key.id)
    (transactionId, customerId) = (key.transactionId, key.customerId)
  }
}

extension SynchronizationKey: Comparable {
  /// The order of the primary key.
  static func < (one: SynchronizationKey, other: SynchronizationKey) -> Bool {
    (one.publisherId, one.id, one.transactionId, one.customerId)
      < (other.publisherId, other.id, other.transactionId, other.customerId)
  }
}
