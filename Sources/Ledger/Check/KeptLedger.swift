import Crypto
public import Domain
import EventLoop
public import Postgres

/// Everything that the ledger keeps about purchases at one moment, as its rows have it: for checks.
public struct KeptLedger: Sendable {
  /// A row of `purchases`. Its only transaction is the deciding one.
  public struct KeptPurchase: Sendable {
    public var purchase: Purchase
    public var offerId: OfferId?
  }

  /// A row of `transactions`.
  public struct KeptTransaction: Sendable {
    public var purchase: PurchaseKey
    public var facts: TransactionFacts
    public var firstGrantedAt: Int64?
  }

  /// A row of `evidence`, with its chain.
  public struct KeptEvidence: Sendable {
    public var purchase: PurchaseKey
    /// `transaction` or `renewalInfo`.
    public var kind: String
    public var payloadSHA256: [UInt8]
    public var payload: [UInt8]
    /// Apple's unsigned status beside it.
    public var status: Int32?
    /// The text that Apple signed; `nil` if its certificates are not kept.
    public var jws: String?
  }

  /// A row of `customers`.
  public struct KeptCustomer: Sendable {
    public var key: CustomerKey
    public var version: Int64
    public var told: [ToldEntitlement]
  }

  /// A row of `ownerships` that has not ended.
  public struct KeptOwnership: Sendable {
    public var purchase: PurchaseKey
    public var owner: Owner
  }

  public var purchases: [KeptPurchase] = []
  public var transactions: [KeptTransaction] = []
  public var evidence: [KeptEvidence] = []
  public var customers: [KeptCustomer] = []
  public var ownerships: [KeptOwnership] = []
  /// The grants whose end was not told.
  public var grants: [Grant] = []
  /// The events about changed entitlements.
  public var events: [Event] = []

  /// Reads a whole ledger, which must fit into memory.
  ///
  /// - Throws: `PostgresError`, or the name of a row that cannot be read.
  @LoopActor
  public static func read(_ postgres: PostgresClient) async throws -> KeptLedger {
    let rows = try await postgres.transaction { transaction in
      _ = try await transaction.query(PostgresQuery(.oneMoment))
      return try await transaction.query(
        [.allPurchases, .allTransactions, .allEvidence, .allCustomers, .runningOwnerships, .allChanges, .openGrants].map
        {
          PostgresQuery($0)
        })
    }
    var ledger = KeptLedger()
    ledger.purchases = try zip(rows[0], PurchaseRow.table.records(rows[0])).map { row, record in
      KeptPurchase(purchase: try record.purchase(), offerId: try row.id("offer_id"))
    }
    ledger.transactions = try TransactionRow.table.records(rows[1]).map {
      KeptTransaction(purchase: $0.key, facts: $0.facts, firstGrantedAt: $0.firstGrantedAt)
    }
    ledger.evidence = try rows[2].map { row in
      let (payload, signature) = (try row.bytes("payload") ?? [], try row.bytes("signature") ?? [])
      let jws = try row.text("header").map {
        "\($0).\(Base64URL.encode(payload)).\(Base64URL.encode(signature))"
      }
      return KeptEvidence(
        purchase: try PurchaseKey(row), kind: try row.text("kind") ?? "",
        payloadSHA256: try row.bytes("payload_sha256") ?? [], payload: payload, status: try row.int32("status"),
        jws: jws)
    }
    ledger.customers = try CustomerRow.table.records(rows[3]).map {
      KeptCustomer(key: $0.key, version: $0.version, told: $0.told)
    }
    ledger.ownerships = try rows[4].map { row in
      KeptOwnership(
        purchase: try PurchaseKey(row),
        owner: Owner(
          customerId: try row.id("customer_id") ?? "", subscriptionId: try row.int64("subscription_id") ?? 0))
    }
    ledger.events = try Event.all(rows[5])
    ledger.grants = try GrantRow.table.records(rows[6]).map(\.grant)
    return ledger
  }
}

extension PostgresStatement {
  fileprivate static let allPurchases = PostgresStatement(
    "all purchases", "SELECT \(PurchaseRow.table.selected("p")), p.offer_id FROM purchases p")

  fileprivate static let allTransactions = PostgresStatement(
    "all transactions", "SELECT \(TransactionRow.table.selected("t")) FROM transactions t")

  fileprivate static let allEvidence = PostgresStatement(
    "all evidence",
    """
    SELECT e.publisher_id, e.environment, e.original_transaction_id, e.kind, e.payload_sha256, e.payload, e.signature,
      e.status, convert_from(c.header, 'UTF8') AS header
    FROM evidence e LEFT JOIN certificate_chains c ON c.sha256 = e.header_sha256
    """)

  fileprivate static let allCustomers = PostgresStatement(
    "all customers", "SELECT \(CustomerRow.table.selected("c")) FROM customers c")

  fileprivate static let runningOwnerships = PostgresStatement(
    "running ownerships",
    """
    SELECT publisher_id, environment, original_transaction_id, customer_id, subscription_id FROM ownerships
    WHERE ended_at IS NULL
    """)

  fileprivate static let openGrants = PostgresStatement(
    "open grants", "SELECT \(GrantRow.table.selected("g")) FROM grants g WHERE due_at IS NOT NULL")

  fileprivate static let allChanges = PostgresStatement(
    "all changes of entitlements",
    """
    SELECT \(EventRow.table.selected("e")) FROM events e
    WHERE topic = '\(EventTopic.entitlementsChanged)' AND customer_id IS NOT NULL
    ORDER BY publisher_id, customer_id, version
    """)
}
