import Crypto
import Domain
import Postgres

/// A row of `customers`, as a commit reads and writes it.
struct CustomerRow: ReadableRecord {
  var publisherId: PublisherId = 0
  var id: CustomerId = ""
  var version: Int64 = 0
  /// The entitlements that were told last.
  var told: [ToldEntitlement] = []
  var appAccountToken: AppAccountToken?

  static let blank = CustomerRow()
  var title: String { "a customer of publisher \(publisherId)" }
  var customer: CustomerKey? { key }

  static let table = Table<CustomerRow>("customers", key: ["publisher_id", "id"]) { columns in
    columns.required("publisher_id", .publisher, { $0.publisherId }, { $0.publisherId = $1 })
    columns.required("id", .id(of: CustomerId.self), { $0.id }, { $0.id = $1 }, person: .withRow)
    columns.required("version", .bigint, { $0.version }, { $0.version = $1 }, export: "customerVersion")
    columns.required(
      "told", .bytea, { ToldEntitlement.json(of: $0.told) }, { $0.told = try ToldEntitlement.list(from: $1) },
      export: ColumnExport("entitlements", .told))
    columns.readOptional(
      "app_account_token", .uuid(of: AppAccountToken.self), export: "appAccountToken", person: .withRow
    ) { $0.appAccountToken = $1 }
    // A customer whom a commit brings was not put by the publisher.
    columns.written("is_registered", .boolean, export: "isRegistered") { _ in false }
    columns.other("email", "text", isNullable: true, export: "email", person: .withRow)
    columns.other("email_key", "text", isNullable: true, person: .withRow)
    columns.other("created_at", "timestamptz", export: "createdAt")
    columns.other("updated_at", "timestamptz", export: "updatedAt")
  }

  /// A customer, with what a commit knows of it.
  struct Committed {
    let key: CustomerKey
    let record: CustomerRecord
  }

  var key: CustomerKey { CustomerKey(publisherId: publisherId, id: id) }
  var record: CustomerRecord {
    CustomerRecord(isKnown: true, version: version, told: told, appAccountToken: appAccountToken)
  }

  /// A customer whom two workers meet at the same time makes one of them fail, and its batch runs again.
  static let insert = table.insertUnnamed("insert customers")

  /// Fails when an erasure has committed since this commit has looked (the times in $3): the erasure found no row to
  /// lock, and so this commit brings the customer back. The batch runs again, and finds the erasure. It stands behind
  /// ``insert``, which waits for an erasure under way.
  static let refuseErased = PostgresStatement(
    "refuse erased customers", isByKeys: true,
    """
    SELECT refuse_overtaken()
    FROM unnest($1::bigint[], $2::bytea[], $3::timestamptz[]) AS n (publisher_id, id_sha256, known)
      JOIN erased_customers e USING (publisher_id, id_sha256)
    WHERE e.erased_at IS DISTINCT FROM n.known
    """)

  /// The parameters of ``refuseErased``.
  static func erasures(_ rows: [Committed]) -> [PostgresParameter] {
    [
      .ids(rows.map(\.key.publisherId)), .bytes(rows.map { ErasedCustomer.sha256(of: $0.key) }),
      .times(rows.map(\.record.erasedAt)),
    ]
  }

  /// What changes about a customer whom the ledger has.
  static let changes = table.only("version", "told")

  /// Writes ``changes``. The rows are locked.
  static let update = PostgresStatement(
    "update customers", isByKeys: true,
    "UPDATE customers t SET \(changes.assignments), updated_at = now() FROM \(changes.source) WHERE \(changes.isSame)")
}

extension CustomerRow {
  /// A customer as a commit writes it.
  init(_ customer: Committed) {
    let (key, record) = (customer.key, customer.record)
    self.init(publisherId: key.publisherId, id: key.id, version: record.version, told: record.told)
  }
}

/// An erased customer. Only a hash of the publisher's and the customer's id stays, so that a running job does not bring
/// the customer back.
struct ErasedCustomer: Hashable {
  let publisherId: PublisherId
  let sha256: [UInt8]

  init(publisherId: PublisherId, sha256: [UInt8]) { (self.publisherId, self.sha256) = (publisherId, sha256) }
  init(_ key: CustomerKey) { self.init(publisherId: key.publisherId, sha256: Self.sha256(of: key)) }

  static func sha256(of key: CustomerKey) -> [UInt8] {
    CustomerDigest.sha256(of: key.id.text, of: key.publisherId.number)
  }

  /// Stands for the customer's id in rows that stay.
  static func standIn(for key: CustomerKey) -> CustomerId {
    CustomerId(CustomerId.erasedPrefix + CustomerDigest.short(of: key.id.text, of: key.publisherId.number))
  }
}
