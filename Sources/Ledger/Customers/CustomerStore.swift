public import Domain
public import EventLoop
import JSON
public import Postgres

/// The publishers' customers in the ledger. Every change writes its row of the audit log in the same commit.
///
/// Every method throws `PostgresError`. After `connectionLost` and `timeout` nobody knows whether a change was made;
/// the caller may ask for it again.
@LoopActor
public final class CustomerStore {
  let postgres: PostgresClient

  /// Creates a store over a client.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// The answer to a put.
  public enum PutAnswer: Sendable, Equatable {
    /// The publisher had not put the customer before.
    case created
    /// The customer is in place of the earlier record.
    case replaced
    /// Another customer of the publisher has the e-mail address.
    case emailInUse
  }

  /// Puts a customer in place of the earlier record.
  ///
  /// - Parameter person: who runs an import; `nil` for a publisher's token.
  public func put(_ publisher: PublisherId, _ customer: Customer, by person: String? = nil) async throws -> PutAnswer {
    try await postgres.transaction { transaction in
      let rows = try await transaction.query(Self.reads(publisher, customer))
      if rows.count > 2, rows[2].first != nil { return .emailInUse }
      let old = try PutCustomerRow.table.records(rows[0]).first
      let isNew = old?.isRegistered != true
      let changed = Self.changes(old?.put ?? Customer(id: customer.id), customer)
      guard isNew || !changed.isEmpty else { return .replaced }
      let detail = JSONWriter.object { detail in
        detail.member("changed", array: changed.map { Array("\"\($0)\"".utf8) })
        detail.member("created", isNew)
      }
      _ = try await transaction.query([
        PostgresQuery(.putCustomer, PutCustomerRow.table.values(PutCustomerRow(publisher, customer))),
        AuditEntry.insert([
          AuditEntry(
            publisherId: publisher, by: person, action: "customer.put", subject: customer.id.text, detail: detail)
        ]),
      ])
      return isNew ? .created : .replaced
    }
  }

  /// Reads the customer, and whoever else has the e-mail address.
  ///
  /// Whoever wants an address locks it first. The index `customers_email` refuses a second one all the same, but its
  /// error writes the address into PostgreSQL's log.
  private static func reads(_ publisher: PublisherId, _ customer: Customer) -> [PostgresQuery] {
    let id: [PostgresParameter] = [.id(publisher), .id(customer.id)]
    let lock = PostgresQuery(.lockCustomer, id)
    guard let key = customer.email.map(Customer.emailKey) else { return [lock] }
    return [
      lock, PostgresQuery(.lockEmail, [.int64(AdvisoryLock.key("\(publisher)/\(key)"))]),
      PostgresQuery(.findOtherOwner, id + [.text(key)]),
    ]
  }

  /// Reads a customer; `nil` when unknown. A registration may have brought it, and not the publisher.
  public func customer(_ publisher: PublisherId, _ id: CustomerId) async throws -> Customer? {
    try await read(.readCustomer, [.id(publisher), .id(id)])?.put
  }

  /// Finds the customer with an e-mail address. The case of ASCII letters does not count.
  public func customer(_ publisher: PublisherId, email: String) async throws -> Customer? {
    try await read(.findCustomer, [.id(publisher), .text(Customer.emailKey(email))])?.put
  }

  /// Whether the publisher has put the customer.
  public func isRegistered(_ publisher: PublisherId, _ id: CustomerId) async throws -> Bool {
    try await read(.readCustomer, [.id(publisher), .id(id)])?.isRegistered ?? false
  }

  private func read(_ statement: PostgresStatement, _ parameters: [PostgresParameter]) async throws -> PutCustomerRow? {
    try PutCustomerRow.table.records(await postgres.run(PostgresQuery(statement, parameters))).first
  }

  /// The names of the members in which two records of a customer differ.
  private static func changes(_ old: Customer, _ new: Customer) -> [String] {
    var names: [String] = []
    if old.appAccountToken != new.appAccountToken { names.append("appAccountToken") }
    if old != Customer(id: old.id, email: new.email, appAccountToken: old.appAccountToken) { names.append("email") }
    return names
  }
}

extension PostgresStatement {
  /// Until the end of the transaction.
  fileprivate static let lockEmail = PostgresStatement("lock an e-mail address", "SELECT pg_advisory_xact_lock($1)")

  fileprivate static let findOtherOwner = PostgresStatement(
    "find the other owner of an e-mail address",
    "SELECT 1 FROM customers WHERE publisher_id = $1 AND id <> $2 AND email_key = $3")
}
