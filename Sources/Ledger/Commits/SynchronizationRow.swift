import Domain
import Formats
import Postgres

/// The columns of `synchronizations`, written.
enum SynchronizationRow {
  /// A finalized synchronization under its key.
  struct Finalized {
    let key: SynchronizationKey
    /// The key that its row has now, if it has one.
    let waitingKey: SynchronizationKey?
    /// The key with the id of a customer who is erased by now, unless the row itself has it.
    let namedKey: SynchronizationKey?
    let synchronization: Synchronization
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

    /// In the order of the keys. If a key is there twice, the last one counts.
    static func sorted(_ all: [Waiting]) -> [Waiting] {
      Dictionary(all.map { ($0.key, $0) }) { $1 }.sorted { $0.key < $1.key }.map(\.value)
    }
  }

  /// Divides finalized synchronizations into those without a row and those with one, in key order.
  static func split(
    _ all: [Synchronization], _ waiting: Set<SynchronizationKey>
  ) -> (new: [Finalized], waiting: [Finalized]) {
    let rows = all.map { synchronization in
      let key = SynchronizationKey(
        publisherId: synchronization.publisherId, id: synchronization.id,
        transactionId: synchronization.transactionId, customerId: synchronization.customerId)
      // A row that stays does not name an erased customer.
      let isErased = synchronization.conclusion?.outcome.result == .customerErased
      let waitingKey = waiting.isEmpty ? nil : [key.erased, key].first { waiting.contains($0) }
      return Finalized(
        key: isErased ? key.erased : key, waitingKey: waitingKey,
        namedKey: isErased && waitingKey != key ? key : nil, synchronization: synchronization)
    }.sorted { $0.key < $1.key }
    return (rows.filter { $0.waitingKey == nil }, rows.filter { $0.waitingKey != nil })
  }

  static func arrays(_ rows: [Finalized]) -> [PostgresParameter] {
    let conclusions = rows.map(\.synchronization.conclusion)
    return [
      .int64s(rows.map(\.key.publisherId)), .texts(rows.map(\.key.id.text)), .texts(rows.map(\.key.transactionId.text)),
      .texts(rows.map(\.key.customerId.text)), .texts(rows.map(\.synchronization.kind.rawValue)),
      .texts(conclusions.map { $0?.outcome.result.rawValue }), .bytes(conclusions.map { $0?.outcome.encoded }),
      .int64s(conclusions.map { $0?.version }), .texts(rows.map { Event.id(of: $0.synchronization) }),
      .times(conclusions.map { $0?.finalizedAt }),
    ]
  }

  /// The parameters of ``update``.
  static func updates(_ rows: [Finalized]) -> [PostgresParameter] {
    arrays(rows) + [.texts(rows.map { ($0.waitingKey ?? $0.key).customerId.text })]
  }

  /// The parameters of ``wait``.
  static func arrays(_ rows: [Waiting]) -> [PostgresParameter] {
    [
      .int64s(rows.map(\.key.publisherId)), .texts(rows.map(\.key.id.text)),
      .texts(rows.map(\.key.transactionId.text)), .texts(rows.map(\.key.customerId.text)),
      .texts(rows.map(\.job.kind.rawValue)), .bytes(rows.map(\.job.encoded)), .times(rows.map(\.dueAt)),
    ]
  }

  private static let arrays = """
    $1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[], $8::bigint[], $9::text[],
      $10::timestamptz[]
    """
  private static let names =
    "publisher_id, id, transaction_id, customer_id, kind, result, data, version, event_id, finalized_at"

  /// Two runs may finalize one synchronization at the same time. The second one fails, its batch runs again, and finds
  /// the first one's result.
  static let insert = PostgresStatement(
    "insert synchronizations",
    """
    INSERT INTO synchronizations (publisher_id, id, transaction_id, customer_id, kind, status, result, data, version,
      event_id, finalized_at)
    SELECT publisher_id, id, transaction_id, customer_id, kind, 'finalized', result, data, version, event_id,
      finalized_at
    FROM unnest(\(arrays)) AS n (\(names))
    """)

  /// The rows are locked. The row of an erased customer gets the stand-in for the customer.
  static let update = PostgresStatement(
    "update synchronizations",
    """
    UPDATE synchronizations s SET status = 'finalized', job = NULL, due_at = NULL, customer_id = n.customer_id,
      result = n.result, data = n.data, version = n.version, event_id = n.event_id, finalized_at = n.finalized_at
    FROM unnest(\(arrays), $11::text[]) AS n (\(names), waiting_customer_id)
    WHERE s.publisher_id = n.publisher_id AND s.id = n.id AND s.transaction_id = n.transaction_id
      AND s.customer_id = n.waiting_customer_id
    """)

  /// Finds a finalized synchronization by its key, and by the key that it has after its customer's erasure.
  static let find = PostgresStatement(
    "find synchronization",
    """
    SELECT \(KeptSynchronization.columns("s")) FROM synchronizations s
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
    DELETE FROM synchronizations s
    USING unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS n (publisher_id, id, transaction_id, customer_id)
    WHERE s.publisher_id = n.publisher_id AND s.id = n.id AND s.transaction_id = n.transaction_id
      AND s.customer_id = n.customer_id AND s.status <> 'finalized'
    """)

  /// The parameters of ``forget``.
  static func keys(_ keys: [SynchronizationKey]) -> [PostgresParameter] {
    [
      .int64s(keys.map(\.publisherId)), .texts(keys.map(\.id.text)), .texts(keys.map(\.transactionId.text)),
      .texts(keys.map(\.customerId.text)),
    ]
  }

  /// Keeps synchronizations that wait for more than 30 s: their jobs may get lost together with Redis' record.
  static let wait = PostgresStatement(
    "keep waiting synchronizations",
    """
    INSERT INTO synchronizations AS s (publisher_id, id, transaction_id, customer_id, kind, status, job, due_at)
    SELECT publisher_id, id, transaction_id, customer_id, kind, 'retrying', job, due_at
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::timestamptz[])
      AS n (publisher_id, id, transaction_id, customer_id, kind, job, due_at)
    ON CONFLICT (publisher_id, id, transaction_id, customer_id) DO UPDATE SET job = excluded.job, due_at = excluded.due_at
      WHERE s.status <> 'finalized'
    """)
}

extension SynchronizationKey: Comparable {
  /// The order of the primary key.
  static func < (one: SynchronizationKey, other: SynchronizationKey) -> Bool {
    (one.publisherId, one.id, one.transactionId, one.customerId)
      < (other.publisherId, other.id, other.transactionId, other.customerId)
  }
}
