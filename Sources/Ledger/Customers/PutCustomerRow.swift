import Domain
import Postgres

/// A row of `customers`, as a publisher puts and reads it. ``CustomerRow`` describes the whole table.
struct PutCustomerRow: ReadableRecord {
  var publisherId: PublisherId = 0
  var id: CustomerId = ""
  var email: String?
  var appAccountToken: AppAccountToken?
  var isRegistered = true

  static let blank = PutCustomerRow()
  var title: String { "a customer of publisher \(publisherId)" }
  var customer: CustomerKey? { CustomerKey(publisherId: publisherId, id: id) }

  static let table = Table<PutCustomerRow>("customers", key: ["publisher_id", "id"]) { columns in
    columns.required("publisher_id", .publisher, { $0.publisherId }, { $0.publisherId = $1 })
    columns.required("id", .id(of: CustomerId.self), { $0.id }, { $0.id = $1 })
    columns.required("is_registered", .boolean, { $0.isRegistered }, { $0.isRegistered = $1 })
    columns.optional("email", .text, { $0.email }, { $0.email = $1 })
    columns.written("email_key", .text, isNullable: true) { $0.email.map(Customer.emailKey) }
    columns.optional(
      "app_account_token", .uuid(of: AppAccountToken.self), { $0.appAccountToken }, { $0.appAccountToken = $1 })
  }

  /// What the publisher has put, or may put.
  var put: Customer { Customer(id: id, email: email, appAccountToken: appAccountToken) }
}

extension PutCustomerRow {
  /// The row of a customer whom the publisher puts.
  init(_ publisher: PublisherId, _ customer: Customer) {
    self.init(
      publisherId: publisher, id: customer.id, email: customer.email, appAccountToken: customer.appAccountToken)
  }
}

extension PostgresStatement {
  private static let columns = PutCustomerRow.table.selected("c")

  static let lockCustomer = PostgresStatement(
    "lock customer", "SELECT \(columns) FROM customers c WHERE publisher_id = $1 AND id = $2 FOR NO KEY UPDATE")

  static let readCustomer = PostgresStatement(
    "read customer", "SELECT \(columns) FROM customers c WHERE publisher_id = $1 AND id = $2")

  static let findCustomer = PostgresStatement(
    "find customer", "SELECT \(columns) FROM customers c WHERE publisher_id = $1 AND email_key = $2")

  static let putCustomer = PostgresStatement(
    "put customer",
    """
    INSERT INTO customers (\(PutCustomerRow.table.names)) VALUES (\(PutCustomerRow.table.placeholders))
    ON CONFLICT (publisher_id, id) DO UPDATE
    SET (\(PutCustomerRow.table.names), updated_at) = (\(PutCustomerRow.table.placeholders), now())
    """)
}
