import Crypto
import Domain
import Postgres

/// The columns of `customers` that a commit reads and writes.
enum CustomerRow {
  /// The columns of a row of `table`.
  static func columns(_ table: String) -> String {
    ["publisher_id", "id", "version", "told", "app_account_token"].map { "\(table).\($0)" }.joined(separator: ", ")
  }

  /// Reads a customer.
  static func record(_ row: PostgresRow) throws -> (CustomerKey, CustomerRecord) {
    guard let publisher = row.int64(0), let id = row.text(1), let version = row.int64(2), let told = row.bytes(3),
      let entitlements = try? ToldEntitlement.list(from: told)
    else {
      let key = CustomerKey(publisherId: row.int64(0) ?? 0, id: row.text(1) ?? "")
      throw UnreadableRecord("the row of a customer of publisher \(key.publisherId)", customer: key)
    }
    return (
      CustomerKey(publisherId: publisher, id: id),
      CustomerRecord(isKnown: true, version: version, told: entitlements, appAccountToken: row.uuid(4))
    )
  }

  /// A customer whom two workers meet at the same time makes one of them fail, and its batch runs again.
  static let insert = PostgresStatement(
    "insert customers",
    """
    INSERT INTO customers (publisher_id, id, is_registered, version, told)
    SELECT n.publisher_id, n.id, false, n.version, n.told
    FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bytea[]) AS n (publisher_id, id, version, told)
    """)

  /// Fails when an erasure has committed since this commit has looked (the times in $4): the erasure found no row to
  /// lock, and so this commit brings the customer back. The failure is that of a row that exists already. So the batch
  /// runs again, and finds the erasure. It stands behind ``insert``, which waits for an erasure under way.
  static let refuseErased = PostgresStatement(
    "refuse erased customers",
    """
    INSERT INTO customers (publisher_id, id, is_registered)
    SELECT n.publisher_id, n.id, false
    FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::timestamptz[]) AS n (publisher_id, id, id_sha256, known)
      JOIN erased_customers e USING (publisher_id, id_sha256)
    WHERE e.erased_at IS DISTINCT FROM n.known
    """)

  /// The parameters of ``refuseErased``.
  static func erasures(_ rows: [(key: CustomerKey, record: CustomerRecord)]) -> [PostgresParameter] {
    [
      .int64s(rows.map(\.key.publisherId)), .texts(rows.map(\.key.id)),
      .bytes(rows.map { ErasedCustomer.sha256(of: $0.key) }), .times(rows.map(\.record.erasedAt)),
    ]
  }

  /// The rows are locked.
  static let update = PostgresStatement(
    "update customers",
    """
    UPDATE customers c SET version = n.version, told = n.told, updated_at = now()
    FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bytea[]) AS n (publisher_id, id, version, told)
    WHERE c.publisher_id = n.publisher_id AND c.id = n.id
    """)

  /// The parameters of both.
  static func arrays(_ rows: [(key: CustomerKey, record: CustomerRecord)]) -> [PostgresParameter] {
    [
      .int64s(rows.map(\.key.publisherId)), .texts(rows.map(\.key.id)), .int64s(rows.map(\.record.version)),
      .bytes(rows.map { ToldEntitlement.json(of: $0.record.told) }),
    ]
  }
}

/// An erased customer. Only a hash of the publisher's and the customer's id stays, so that a running job does not bring
/// the customer back.
struct ErasedCustomer: Hashable {
  let publisherId: Int64
  let sha256: [UInt8]

  init(publisherId: Int64, sha256: [UInt8]) { (self.publisherId, self.sha256) = (publisherId, sha256) }
  init(_ key: CustomerKey) { self.init(publisherId: key.publisherId, sha256: Self.sha256(of: key)) }

  static func sha256(of key: CustomerKey) -> [UInt8] { CustomerDigest.sha256(of: key.id, of: key.publisherId) }

  /// Stands for the customer's id in rows that stay.
  static func standIn(for key: CustomerKey) -> String {
    CustomerId.erasedPrefix + CustomerDigest.short(of: key.id, of: key.publisherId)
  }
}
