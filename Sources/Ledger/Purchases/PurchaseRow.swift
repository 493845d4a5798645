import Domain
import JSON
import Postgres

/// A row of `purchases`: the fold of a purchase's evidence, with its deciding transaction, and its owner.
///
/// `docs/internals/a-new-column.md` tells how to add a column.
struct PurchaseRow: ReadableRecord, FactsRecord {
  var publisherId: PublisherId = 0
  /// The deciding transaction.
  var facts = TransactionFacts.blank
  /// Its purchase and environment are those of ``facts``.
  var renewal: RenewalFacts? = RenewalFacts.blank
  var status: ReportedStatus? = ReportedStatus(code: 0, date: 0)
  var owner: Owner? = Owner(customerId: "", subscriptionId: 0)
  var version: Int64 = 0
  var attributes: PurchaseAttributes?
  var provisionalUntil: Int64?
  var recheckAt: Int64?
  var hadOwner = false
  var createdAt: Int64?
  var updatedAt: Int64 = 0
  /// The offer at the last commit.
  var offerId: OfferId?
  /// When somebody must look at the purchase.
  var dueAt: Int64?

  static let blank = PurchaseRow()
  var title: String { "purchase \(facts.originalTransactionId)" }

  static let table = Table<PurchaseRow>(
    "purchases", key: ["publisher_id", "environment", "original_transaction_id"]
  ) { columns in
    columns.required("publisher_id", .publisher, { $0.publisherId }, { $0.publisherId = $1 })
    columns.facts(ofPurchase: true)
    columns.required("version", .bigint, { $0.version }, { $0.version = $1 }, export: "version")
    // A purchase has an owner, a renewal info or a status if all columns of it have values.
    columns.optional(
      "customer_id", .id(of: CustomerId.self), { $0.owner?.customerId },
      { row, id in if let id { row.owner?.customerId = id } else { row.owner = nil } }, person: .cleared)
    columns.optional(
      "subscription_id", .bigint, { $0.owner?.subscriptionId },
      { row, id in if let id { row.owner?.subscriptionId = id } else { row.owner = nil } },
      export: "subscriptionId", person: .cleared)
    columns.optional(
      "renewal_signed_date", .timestamptz, { $0.renewal?.signedDate },
      { row, date in if let date { row.renewal?.signedDate = date } else { row.renewal = nil } })
    columns.optional(
      "renewal_sha256", .bytea, { $0.renewal?.payloadSHA256 },
      { row, hash in if let hash { row.renewal?.payloadSHA256 = hash } else { row.renewal = nil } })
    columns.optional(
      "will_renew", .boolean, { $0.renewal?.willRenew }, { $0.renewal?.willRenew = $1 }, export: "willRenew")
    columns.optional(
      "next_product_id", .id(of: ProductId.self), { $0.renewal?.nextProductId }, { $0.renewal?.nextProductId = $1 },
      export: "nextProductId")
    columns.optional(
      "grace_expires_date", .timestamptz, { $0.renewal?.graceExpiresDate }, { $0.renewal?.graceExpiresDate = $1 },
      export: "gracePeriodExpiresDate")
    columns.optional(
      "is_in_billing_retry", .boolean, { $0.renewal?.isInBillingRetry }, { $0.renewal?.isInBillingRetry = $1 })
    columns.optional(
      "expiration_intent", .integer, { $0.renewal?.expirationIntent }, { $0.renewal?.expirationIntent = $1 })
    columns.optional(
      "price_increase_status", .integer, { $0.renewal?.priceIncreaseStatus },
      { $0.renewal?.priceIncreaseStatus = $1 })
    columns.optional(
      "status", .integer, { $0.status?.code },
      { row, code in if let code { row.status?.code = code } else { row.status = nil } })
    columns.optional(
      "status_date", .timestamptz, { $0.status?.date },
      { row, date in if let date { row.status?.date = date } else { row.status = nil } })
    columns.optional(
      "attributes", .bytea, { $0.attributes?.encoded },
      { $0.attributes = try $1.map { try PurchaseAttributes(JSONText($0, limits: .own)) } },
      export: "attributes", person: .cleared)
    columns.optional("provisional_until", .timestamptz, { $0.provisionalUntil }, { $0.provisionalUntil = $1 })
    columns.optional("recheck_at", .timestamptz, { $0.recheckAt }, { $0.recheckAt = $1 })
    columns.required("had_owner", .boolean, { $0.hadOwner }, { $0.hadOwner = $1 })
    columns.written("offer_id", .id(of: OfferId.self), isNullable: true, export: "offerId") { $0.offerId }
    columns.written("due_at", .timestamptz, isNullable: true) { $0.dueAt }
    columns.other("looked_at", "timestamptz", isNullable: true)
    columns.read("created_at", .timestamptz, export: "createdAt") { $0.createdAt = $1 }
    columns.required("updated_at", .timestamptz, { $0.updatedAt }, { $0.updatedAt = $1 }, export: "updatedAt")
    // A commit reads it again when the owner is locked.
    columns.computed("sandbox_until", .timestamptz, SandboxOverrideRow.end(ofOwnerOf:)) {
      $0.owner?.sandboxUntil = $1
    }
  }

  /// The key.
  var key: PurchaseKey { facts.purchase(of: publisherId) }

  /// Makes the purchase.
  ///
  /// - Parameter others: its transactions; they know more than the purchase's row. Without them the purchase has its
  ///   deciding transaction only, which is enough to decide about access.
  func purchase(_ others: [TransactionFacts] = []) throws -> Purchase {
    var renewal = renewal
    renewal?.originalTransactionId = facts.originalTransactionId
    renewal?.environment = facts.environment
    guard
      var purchase = Purchase(
        key, transactions: others + [facts], renewal: renewal, status: status, owner: owner, version: version)
    else { throw UnreadableRecord(title) }
    (purchase.attributes, purchase.provisionalUntil) = (attributes, provisionalUntil)
    (purchase.createdAt, purchase.updatedAt) = (createdAt, updatedAt)
    // A worker of the version before writes an owner without `had_owner`.
    (purchase.recheckAt, purchase.hadOwner) = (recheckAt, hadOwner || owner != nil)
    return purchase
  }

  /// Two workers may insert one purchase at the same time. The second one fails, and its batch runs again.
  static let insert = table.insert("insert purchases")

  /// The rows are locked.
  static let update = table.update("update purchases")

  /// The timers of purchases that did not change otherwise.
  static let timers = table.only("due_at", "recheck_at")

  /// Sets ``timers``. The rows are locked.
  static let look = timers.update("set timers")

  /// The purchases that may decide what customers have, of customers in a table with `publisher_id` and `customer_id`.
  ///
  /// A customer may have thousands, and each commit about one of them reads the others. So of one product, kind,
  /// environment and ownership type only the one comes that ends last, with all that it does not surpass: those that
  /// end later, or were bought later. One that Apple took back, or has not confirmed, surpasses none. Of equal ones the
  /// first id decides (`Entitlements`), and of each product some door shows the one that began or renewed last, by the
  /// last id (decision 0065).
  ///
  /// - Parameter locked: the keys of the purchases that the commit has locked. They may end, and surpass none. They
  ///   come along, since a statement after the locks may find more of them.
  static func deciding(for customers: String, beside locked: String) -> String {
    let key = "publisher_id, environment, original_transaction_id"
    let longest = "ORDER BY is_sound DESC, expires_date DESC NULLS LAST, purchase_date DESC, original_transaction_id"
    let isRenewal = """
      p.kind = '\(ProductKind.autoRenewable.rawValue)' AND p.transaction_id <> p.original_transaction_id
            AND p.purchase_date > p.original_purchase_date
      """
    return """
      SELECT \(table.selected("p")) FROM (
        SELECT \(key), purchase_date, shown_date, is_locked,
          kind <> '\(ProductKind.autoRenewable.rawValue)' AS has_no_end,
          greatest(expires_date, grace_expires_date) AS ends_at, first_value(is_sound) OVER longest AS is_surpassing,
          first_value(expires_date) OVER longest AS last_end,
          first_value(purchase_date) OVER longest AS last_purchase_date,
          first_value(original_transaction_id) OVER longest AS first_id,
          first_value(shown_date) OVER shown AS last_shown_date,
          first_value(original_transaction_id) OVER shown AS last_id
        FROM (
          SELECT p.publisher_id, p.environment, p.original_transaction_id, p.customer_id, p.kind, p.product_id,
            p.ownership_type, p.purchase_date, p.expires_date, p.grace_expires_date, l.is_locked,
            CASE WHEN \(isRenewal) THEN p.purchase_date
              ELSE coalesce(p.original_purchase_date, p.purchase_date) END AS shown_date,
            NOT l.is_locked AND p.revocation_date IS NULL AND p.status IS DISTINCT FROM \(ReportedStatus.revoked)
              AND NOT p.is_upgraded AND p.provisional_until IS NULL AS is_sound
          FROM \(customers) n
            JOIN purchases p
              ON p.publisher_id = n.publisher_id AND p.customer_id = n.customer_id AND p.kind <> 'Consumable'
            CROSS JOIN LATERAL (SELECT
              (p.publisher_id, p.environment, p.original_transaction_id) IN (SELECT * FROM \(locked) k) AS is_locked) l
        ) owned
        WINDOW alike AS (PARTITION BY publisher_id, customer_id, environment, product_id, kind, ownership_type),
          longest AS (alike \(longest)), shown AS (alike \(longest) DESC)
      ) ranked JOIN purchases p USING (\(key))
      WHERE ranked.is_locked OR NOT coalesce(
        ranked.is_surpassing
          AND ranked.last_purchase_date >= ranked.purchase_date
          AND (ranked.has_no_end OR ranked.last_end >= ranked.ends_at)
          AND (ranked.first_id < ranked.original_transaction_id
            OR ranked.last_purchase_date > ranked.purchase_date
              AND (ranked.has_no_end OR ranked.last_end > ranked.ends_at))
          AND (ranked.last_shown_date, ranked.last_id) > (ranked.shown_date, ranked.original_transaction_id), false)
      """
  }

  /// The purchases that can give access, of customers in a table with `publisher_id` and `customer_id`.
  static func owned(by customers: String) -> String {
    """
    SELECT \(table.selected("p")) FROM \(customers) n
      JOIN purchases p ON p.publisher_id = n.publisher_id AND p.customer_id = n.customer_id AND p.kind <> 'Consumable'
    """
  }
}

extension PurchaseRow {
  /// A purchase as a commit writes it.
  init(_ purchase: Purchase, offerId: OfferId?, dueAt: Int64?) {
    self.init(
      publisherId: purchase.key.publisherId, facts: purchase.deciding, renewal: purchase.renewal,
      status: purchase.status, owner: purchase.owner, version: purchase.version, attributes: purchase.attributes,
      provisionalUntil: purchase.provisionalUntil, recheckAt: purchase.recheckAt, hadOwner: purchase.hadOwner,
      createdAt: purchase.createdAt, updatedAt: purchase.updatedAt ?? 0, offerId: offerId, dueAt: dueAt)
  }
}

extension RenewalFacts {
  static let blank = RenewalFacts(originalTransactionId: "", environment: "", signedDate: 0, payloadSHA256: [])
}

extension PurchaseKey {
  /// Reads the columns of the key.
  init(_ row: PostgresRow) throws {
    self.init(
      publisherId: try row.id("publisher_id") ?? 0, environment: try row.id("environment") ?? "",
      originalTransactionId: try row.id("original_transaction_id") ?? "")
  }
}
