public import Domain
public import EventLoop
public import Postgres

/// Finds purchases that somebody paid, and that nobody owns, for the console.
///
/// No index has them alone. So a page looks through a bounded number of purchases in the order of Apple's ids, whatever
/// it finds, and says where the next page goes on.
@LoopActor
public struct ConsoleUnclaimed {
  private let postgres: PostgresClient

  /// Creates a finder over a client.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// How many purchases one statement looks through, and how many statements a page may take.
  public nonisolated static let window = 2000
  public nonisolated static let mostWindows = 10

  /// A purchase without an owner. Times are milliseconds since 1970.
  public struct Purchase: Sendable, Equatable {
    public let key: PurchaseKey
    public let productId: ProductId
    public let boughtAt: Int64
    /// The end of the paid time, as Apple signs it; `nil` for a product without one.
    public let expiresAt: Int64?
    /// In thousandths of the currency.
    public let price: Int64?
    public let currency: String?
    /// Whether somebody owned it before: the owner was erased, or somebody released the purchase.
    public let hadOwner: Bool

    /// Creates a purchase.
    public init(
      key: PurchaseKey, productId: ProductId, boughtAt: Int64, expiresAt: Int64? = nil, price: Int64? = nil,
      currency: String? = nil, hadOwner: Bool = false
    ) {
      (self.key, self.productId, self.boughtAt, self.expiresAt) = (key, productId, boughtAt, expiresAt)
      (self.price, self.currency, self.hadOwner) = (price, currency, hadOwner)
    }
  }

  /// Reads a page, the greatest of Apple's ids first. It may be empty although another one follows.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970. What ended before is left out.
  ///   - window: see ``window``; a test takes a small one.
  /// - Throws: `PostgresError`.
  public func purchases(
    of publisherId: Int64, in environment: Environment, after place: ConsolePlace?, now: Int64, limit: Int,
    window: Int = ConsoleUnclaimed.window
  ) async throws -> ConsoleRows<Purchase> {
    var found: [Purchase] = []
    // No id is greater than this text.
    var before = place?.id ?? "\u{10ffff}"
    for _ in 0..<Self.mostWindows {
      let rows = try await postgres.run(
        PostgresQuery(
          .listConsoleUnclaimed,
          [
            .int64(publisherId), .id(environment), .text(before), .int64(Int64(window)), .time(now),
            .int64(Int64(limit - found.count) + 1),
          ]))
      found += try rows.compactMap { try Purchase($0, publisherId, environment) }
      if found.count > limit { break }
      guard let row = rows.first, let last = try row.text("last"), try row.int64("looked") == Int64(window) else {
        return ConsoleRows(found)
      }
      before = last
    }
    guard found.count > limit else { return ConsoleRows(found, next: ConsolePlace(0, publisherId, before)) }
    return ConsoleRows(found, limit: limit) {
      ConsolePlace(0, publisherId, $0.key.originalTransactionId.text)
    }
  }
}

extension ConsoleUnclaimed.Purchase {
  /// - Returns: `nil` for the row of a window without any.
  fileprivate init?(_ row: PostgresRow, _ publisherId: Int64, _ environment: Environment) throws {
    guard let original: OriginalTransactionId = try row.id("original_transaction_id") else { return nil }
    self.init(
      key: PurchaseKey(publisherId: publisherId, environment: environment, originalTransactionId: original),
      productId: try row.id("product_id") ?? "", boughtAt: try row.time("bought_at") ?? 0,
      expiresAt: try row.time("ends_at"), price: try row.int64("price"), currency: try row.text("currency"),
      hadOwner: try row.bool("had_owner") ?? false)
  }
}

extension PostgresStatement {
  /// It has one row at least: how much it has looked through, and how far.
  fileprivate static let listConsoleUnclaimed = PostgresStatement(
    "console: list unclaimed purchases",
    """
    WITH part AS MATERIALIZED (
      SELECT original_transaction_id, product_id, coalesce(original_purchase_date, purchase_date) AS bought_at,
        greatest(expires_date, grace_expires_date) AS ends_at, price, currency, had_owner,
        customer_id IS NULL AND revocation_date IS NULL AND NOT is_upgraded
          AND ownership_type IS DISTINCT FROM 'FAMILY_SHARED' AS is_unclaimed
      FROM purchases WHERE publisher_id = $1 AND environment = $2 AND original_transaction_id < $3
      ORDER BY original_transaction_id DESC LIMIT $4)
    SELECT whole.looked, whole.last, part.*
    FROM (SELECT count(*) AS looked, min(original_transaction_id) AS last FROM part) whole
      LEFT JOIN part ON part.is_unclaimed AND (part.ends_at IS NULL OR part.ends_at > $5)
    ORDER BY part.original_transaction_id DESC LIMIT $6
    """)
}
