import Crypto
import Domain
import Formats
import Postgres

/// The first trip of a commit: locks the purchases, then the customers, each in key order, and reads what the decision
/// needs.
///
/// Each statement sees what others have committed while the statement before it waited for a lock (READ COMMITTED).
struct CommitReading {
  private let requests: [FinalizationRequest]
  private let updates: [PurchaseUpdate]
  /// The jobs that the commit keeps for later. Their rows are locked, too.
  private let waiting: [Job]
  private let purchaseKeys: [PurchaseKey]
  private let customerKeys: [CustomerKey]
  private let refunds: RefundReading
  /// The tokens by which purchases without an owner may name a customer.
  private let tokens: [NamedToken]

  /// An `appAccountToken`, with the publisher among whose customers it counts.
  private struct NamedToken {
    let publisherId: PublisherId
    let token: AppAccountToken
  }

  init(_ requests: [FinalizationRequest], updates: [PurchaseUpdate] = [], waiting: [Job]) {
    self.requests = requests
    self.updates = updates
    self.waiting = waiting
    refunds = RefundReading(updates)
    purchaseKeys = Set(
      requests.compactMap(\.purchaseKey) + requests.flatMap(\.predecessors) + updates.map(\.key)
        + updates.flatMap(\.predecessors)
    ).sorted()
    tokens = updates.flatMap { update in
      update.appAccountTokens.filter { !$0.isNil }.map {
        NamedToken(publisherId: update.key.publisherId, token: $0)
      }
    }
    customerKeys = Set(requests.map(\.customerKey) + waiting.map(\.customerKey)).sorted()
  }

  /// The statements, in the order of ``read(_:now:subscriptionIds:)``.
  var queries: [PostgresQuery] {
    // Without a purchase, the transaction may name one.
    let unnamed = requests.filter { $0.purchaseKey == nil }
    let keys: [PostgresParameter] = [
      .ids(purchaseKeys.map(\.publisherId)), .ids(purchaseKeys.map(\.environment)),
      .ids(purchaseKeys.map(\.originalTransactionId)), .ids(unnamed.map(\.job.publisherId)),
      .ids(unnamed.map(\.job.transactionId)),
    ]
    let customers: [PostgresParameter] = [
      .ids(customerKeys.map(\.publisherId)), .ids(customerKeys.map(\.id)),
    ]
    let named: [PostgresParameter] = [.ids(tokens.map(\.publisherId)), .uuids(tokens.map(\.token.text))]
    let jobs = requests.map(\.job) + waiting
    return [
      PostgresQuery(.lockPurchases, keys),
      PostgresQuery(.readTransactions, keys),
      PostgresQuery(.lockCustomers, customers + keys + named),
      PostgresQuery(.readOwned, customers + keys + named),
      PostgresQuery(
        .readErased,
        [
          .ids(customerKeys.map(\.publisherId)), .bytes(customerKeys.map { ErasedCustomer.sha256(of: $0) }),
        ]),
      PostgresQuery(
        .lockSynchronizations,
        [
          .ids(jobs.map(\.publisherId)), .ids(jobs.map(\.synchronizationId)), .ids(jobs.map(\.transactionId)),
        ]),
      PostgresQuery(.readGrants, customers + keys + named),
      PostgresQuery(.readSandboxAccess, customers + keys + named),
    ] + (refunds.isEmpty ? [] : refunds.queries(PostgresQuery(.readConsents, customers + keys + named)))
  }

  /// The rows of ``queries``, as values.
  struct Found {
    var state: CommitState
    /// The synchronizations that have a row already.
    var synchronizations: [SynchronizationKey: KeptSynchronization]

    /// The synchronization of a key, if it is finalized; also after its customer's erasure.
    func finalized(_ key: SynchronizationKey) -> KeptSynchronization? {
      if synchronizations.isEmpty { return nil }
      let kept = [synchronizations[key], synchronizations[key.erased]]
      return kept.lazy.compactMap(\.self).first { $0.synchronization.status == .finalized }
    }
  }

  /// How many numbers of ownerships the decision may need. Each purchase may have a successor, too.
  var numbers: Int { 2 * requests.count + purchaseKeys.count + updates.count }

  /// Reads the rows.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970.
  ///   - subscriptionIds: ``numbers`` of them.
  func read(_ rows: [PostgresRows], now: Int64, subscriptionIds: [Int64]) throws -> Found {
    var transactions: [PurchaseKey: [TransactionFacts]] = [:]
    var firstGrants: [PurchaseKey: [TransactionId: Int64]] = [:]
    for row in try TransactionRow.table.records(rows[1]) {
      let key = row.key
      transactions[key, default: []].append(row.facts)
      if let time = row.firstGrantedAt { firstGrants[key, default: [:]][row.facts.transactionId] = time }
    }
    let purchases = try Dictionary(
      uniqueKeysWithValues: PurchaseRow.table.records(rows[0]).map { row -> (PurchaseKey, Purchase) in
        let key = row.key
        return (key, try row.purchase(transactions[key] ?? []))
      })
    var customers = Dictionary(uniqueKeysWithValues: customerKeys.map { ($0, CustomerRecord()) })
    for row in try CustomerRow.table.records(rows[2]) { customers[row.key] = row.record }
    for row in try PurchaseRow.table.records(rows[3]) {
      let purchase = try row.purchase()
      guard let owner = purchase.owner, purchases[purchase.key] == nil else { continue }
      let customer = purchase.key.customer(owner.customerId)
      customers[customer, default: CustomerRecord()].others.append(purchase)
    }
    try GrantRow.note(rows[6], in: &customers)
    try SandboxOverrideRow.note(rows[7], in: &customers)
    let erased = try Dictionary(
      uniqueKeysWithValues: rows[4].map { row in
        let publisher = try row.id("publisher_id") ?? 0
        let customer = ErasedCustomer(publisherId: publisher, sha256: try row.bytes("id_sha256") ?? [])
        return (customer, try row.time("erased_at") ?? 0)
      })
    if !erased.isEmpty {
      for key in customerKeys { customers[key]?.erasedAt = erased[ErasedCustomer(key)] }
    }
    var synchronizations: [SynchronizationKey: KeptSynchronization] = [:]
    for kept in try KeptSynchronization.all(rows[5]) { synchronizations[kept.key] = kept }
    var state = CommitState(
      purchases: Array(purchases.values), firstGrants: firstGrants, customers: customers,
      subscriptionIds: subscriptionIds, reserved: requests.count, now: now)
    if !refunds.isEmpty { try refunds.read(rows[8], rows[9], into: &state) }
    return Found(state: state, synchronizations: synchronizations)
  }
}

extension PostgresStatement {
  /// The keys of the purchases: the named ones, those that have a named transaction, and those that took the place of a
  /// named one.
  ///
  /// - Parameter first: the number of the first of its five parameters.
  private static func keys(_ first: Int) -> String {
    """
    (SELECT * FROM unnest($\(first)::bigint[], $\(first + 1)::text[], $\(first + 2)::text[])
       AS named (publisher_id, environment, original_transaction_id)
     UNION
     SELECT t.publisher_id, t.environment, t.original_transaction_id
       FROM unnest($\(first + 3)::bigint[], $\(first + 4)::text[]) AS n (publisher_id, transaction_id)
       JOIN transactions t USING (publisher_id, transaction_id)
     UNION
     SELECT t.publisher_id, t.environment, t.original_transaction_id
       FROM unnest($\(first)::bigint[], $\(first + 1)::text[], $\(first + 2)::text[])
         AS named (publisher_id, environment, id)
       JOIN transactions t ON t.publisher_id = named.publisher_id AND t.environment = named.environment
         AND t.previous_original_transaction_id = named.id)
    """
  }

  fileprivate static let lockPurchases = PostgresStatement(
    "lock purchases", isByKeys: true,
    """
    SELECT \(PurchaseRow.table.selected("p")) FROM \(keys(1)) k
      JOIN purchases p USING (publisher_id, environment, original_transaction_id)
    ORDER BY p.publisher_id, p.environment, p.original_transaction_id FOR NO KEY UPDATE OF p
    """)

  fileprivate static let readTransactions = PostgresStatement(
    "read transactions", isByKeys: true,
    """
    SELECT \(TransactionRow.table.selected("t")) FROM \(keys(1)) k
      JOIN transactions t USING (publisher_id, environment, original_transaction_id)
    """)

  /// The customers of the jobs, the owners of the purchases, and those whose token Apple signed.
  private static let concerned = """
    (SELECT * FROM unnest($1::bigint[], $2::text[]) AS named (publisher_id, customer_id)
     UNION
     SELECT p.publisher_id, p.customer_id FROM \(keys(3)) k
       JOIN purchases p USING (publisher_id, environment, original_transaction_id) WHERE p.customer_id IS NOT NULL
     UNION
     SELECT h.publisher_id, h.id FROM unnest($8::bigint[], $9::uuid[]) AS named (publisher_id, app_account_token)
       JOIN customers h USING (publisher_id, app_account_token))
    """

  fileprivate static let lockCustomers = PostgresStatement(
    "lock customers", isByKeys: true,
    """
    SELECT \(CustomerRow.table.selected("c")) FROM \(concerned) n
      JOIN customers c ON c.publisher_id = n.publisher_id AND c.id = n.customer_id
    ORDER BY c.publisher_id, c.id FOR NO KEY UPDATE OF c
    """)

  fileprivate static let readOwned = PostgresStatement(
    "read owned", isByKeys: true, PurchaseRow.deciding(for: concerned, beside: keys(3)))

  fileprivate static let readGrants = PostgresStatement(
    "read grants", isByKeys: true, GrantRow.open(of: concerned))

  fileprivate static let readSandboxAccess = PostgresStatement(
    "read sandbox access of customers", isByKeys: true, SandboxOverrideRow.open(of: concerned))

  /// Only for commits that take a request for a refund.
  fileprivate static let readConsents = PostgresStatement(
    "read consents", isByKeys: true,
    """
    SELECT n.publisher_id, n.customer_id, c.time, c.is_given, c.text_version FROM \(concerned) n
      CROSS JOIN LATERAL (
        SELECT q.time, q.is_given, q.text_version FROM consents q
        WHERE q.publisher_id = n.publisher_id AND q.customer_id = n.customer_id
        ORDER BY q.time DESC LIMIT 1) c
    """)

  fileprivate static let readErased = PostgresStatement(
    "read erased", isByKeys: true,
    """
    SELECT e.publisher_id, e.id_sha256, e.erased_at FROM unnest($1::bigint[], $2::bytea[]) AS n (publisher_id, id_sha256)
      JOIN erased_customers e USING (publisher_id, id_sha256)
    """)

  fileprivate static let lockSynchronizations = PostgresStatement(
    "lock synchronizations", isByKeys: true,
    """
    SELECT \(SynchronizationRow.table.selected("s"))
    FROM (SELECT DISTINCT * FROM unnest($1::bigint[], $2::text[], $3::text[]) AS n (publisher_id, id, transaction_id)) n
      JOIN synchronizations s USING (publisher_id, id, transaction_id)
    ORDER BY s.publisher_id, s.id, s.transaction_id, s.customer_id FOR NO KEY UPDATE OF s
    """)
}
