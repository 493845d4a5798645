import Domain
import Postgres

/// Which things of a kind a page is about.
struct ExportRange {
  /// Only those behind it; `nil` for all.
  var after: [String]?
  /// Only those up to it; `nil` for all.
  var through: [String]?
  /// Only rows that have changed since this transaction of PostgreSQL.
  var changedSince: Int64?
}

extension ExportKind {
  /// How many parts a key has.
  var keyLength: Int { keyColumns.count }

  /// The rest of a line behind its key.
  var document: RowDocument {
    switch self {
    case .customer: Self.customerDocument
    case .purchase: Self.purchaseDocument
    case .grant: Self.grantDocument
    case .sandboxAccess: Self.sandboxAccessDocument
    case .event: Self.eventDocument
    case .audit: Self.auditDocument
    }
  }

  private static let customerDocument = CustomerRow.table.document(
    first: ["customerId"], adding: [RowDocument.Column("t.id", "customerId")])
  private static let purchaseDocument = PurchaseRow.table.document(
    first: ["environment", "originalTransactionId"], adding: [RowDocument.Column("customer_id", "customerId")])
  private static let grantDocument = GrantRow.table.document(
    first: ["grantId"], adding: [RowDocument.Column("customer_id", "customerId")])
  private static let sandboxAccessDocument = SandboxOverrideRow.table.document(
    first: ["customerId"], adding: [RowDocument.Column("customer_id", "customerId")])
  private static let eventDocument = EventRow.table.document(
    first: ["eventId"], adding: [RowDocument.Column("customer_id", "customerId")])
  private static let auditDocument = AuditEntry.table.document(
    adding: [RowDocument.Column("subject", "subject"), .auditToken])

  /// What a page is about: `$1` is the publisher, `$2` the most rows, `$3` and `$4` the key before them, `$5` and `$6`
  /// the last key, and `$7` the transaction since which they have changed.
  func statement(_ range: ExportRange) -> PostgresStatement {
    let end = range.through == nil ? "" : " AND \(comparison("<=", 5))"
    let change = range.changedSince == nil ? "" : " AND (\(changed))"
    return PostgresStatement(
      "export \(rawValue)\(end.isEmpty ? "" : " to")\(change.isEmpty ? "" : " changed")", isByKeys: true,
      """
      SELECT \(document.sql), \(keyTexts) FROM \(rows) t
      WHERE t.publisher_id = $1 AND \(comparison(">", 3))\(condition)\(end)\(change)
      ORDER BY \(order) LIMIT $2
      """)
  }

  /// The parameters of ``statement(_:)``.
  ///
  /// - Throws: ``ExportRefused`` for a key that is none of the kind's.
  func parameters(_ publisher: PublisherId, _ range: ExportRange, _ limit: Int64) throws -> [PostgresParameter] {
    // An empty text is less than every id, and -1 less than every number.
    let none = Array(repeating: isNumbered ? "-1" : "", count: keyColumns.count)
    return try [.id(publisher), .int64(limit)] + parts(range.after ?? none) + parts(range.through ?? none)
      + [.int64(range.changedSince ?? 0)]
  }

  /// Whether a text can be a key of the kind.
  func isKey(_ key: [String]) -> Bool {
    key.count == keyColumns.count && key.allSatisfy { isNumbered ? Self.number($0) != nil : !$0.utf8.contains(0) }
  }

  private func parts(_ key: [String]) throws -> [PostgresParameter] {
    guard key.count == keyColumns.count else { throw ExportRefused("\(key) is not a key of a line \(rawValue)") }
    let unused: [PostgresParameter] = keyColumns.count == 1 ? [isNumbered ? .int64(0) : .text("")] : []
    return try key.map { part in
      guard isNumbered else { return .text(part) }
      guard let number = Self.number(part) else { throw ExportRefused("\(key) is not a key of a line \(rawValue)") }
      return .int64(number)
    } + unused
  }

  private var rows: String {
    switch self {
    case .customer: "customers"
    case .purchase: "purchases"
    case .grant: "grants"
    case .sandboxAccess: "sandbox_access"
    case .event: "events"
    case .audit: "audit"
    }
  }

  private var keyColumns: [String] {
    switch self {
    case .customer, .grant, .audit: ["t.id"]
    case .sandboxAccess: ["t.customer_id"]
    case .purchase: ["t.environment", "t.original_transaction_id"]
    case .event: ["t.horizon", "t.place"]
    }
  }

  private var isNumbered: Bool { self == .event || self == .audit }

  /// A number of a key. None is less than -1, whose negative every column holds.
  private static func number(_ text: String) -> Int64? { Int64(text).flatMap { $0 >= -1 ? $0 : nil } }

  /// Whether a row's key stands before or behind that of two parameters. The audit log has an index by `-id` only
  /// (step 16).
  private func comparison(_ sign: String, _ first: Int) -> String {
    if self == .audit { return "- t.id \(sign == ">" ? "<" : ">=") - $\(first)::bigint" }
    return "(\(keyColumns.joined(separator: ", "))) \(sign) (\(placeholders(first)))"
  }

  private var order: String { self == .audit ? "- t.id DESC" : keyColumns.joined(separator: ", ") }

  private var keyTexts: String {
    keyColumns.enumerated().map { "\($1)::text AS key\($0 + 1)" }.joined(separator: ", ")
  }

  private func placeholders(_ first: Int) -> String {
    keyColumns.indices.map { "$\(first + $0)" }.joined(separator: ", ")
  }

  /// The rows of the index `events_pull`. A test of an endpoint is no event of a customer's.
  private var condition: String {
    self == .event ? " AND t.horizon IS NOT NULL AND NOT t.erased AND t.topic <> '\(EventTopic.test)'" : ""
  }

  /// Whether a row, or one that its line shows, was written since the transaction `$7`, or perhaps shortly before.
  private var changed: String {
    let own = PostgresStatement.isWritten("t", since: "$7")
    switch self {
    case .grant, .sandboxAccess, .event, .audit: return own
    case .customer:
      let parts = ["purchases", "grants", "sandbox_access"].map { Self.hasWritten($0, where: "p.customer_id = t.id") }
      return ([own] + parts).joined(separator: " OR ")
    case .purchase:
      let isSame = "p.environment = t.environment AND p.original_transaction_id = t.original_transaction_id"
      let parts = ["transactions", "ownerships", "evidence"].map { Self.hasWritten($0, where: isSame) }
      return ([own] + parts).joined(separator: " OR ")
    }
  }

  private static func hasWritten(_ table: String, where isOf: String) -> String {
    """
    EXISTS (SELECT FROM \(table) p WHERE p.publisher_id = t.publisher_id AND \(isOf)
      AND \(PostgresStatement.isWritten("p", since: "$7")))
    """
  }
}
