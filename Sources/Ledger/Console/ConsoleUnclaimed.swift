public import Domain
public import EventLoop
public import Postgres

/// Finds purchases that somebody paid, and that nobody owns, for the console.
///
/// The index `purchases_unclaimed` has what nobody owns, in the order of the last payments. Much of it may be over. So
/// a page looks through a bounded number, whatever it finds, and says where the next page goes on.
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
    /// When the present period was paid. The list is in this order.
    public let paidAt: Int64
    /// The end of the paid time, as Apple signs it; `nil` for a product without one.
    public let expiresAt: Int64?
    /// In thousandths of the currency.
    public let price: Int64?
    public let currency: CurrencyCode?
    /// Whether somebody owned it before: the owner was erased, or somebody released the purchase.
    public let hadOwner: Bool

    /// Creates a purchase.
    public init(
      key: PurchaseKey, productId: ProductId, boughtAt: Int64, paidAt: Int64, expiresAt: Int64? = nil,
      price: Int64? = nil, currency: CurrencyCode? = nil, hadOwner: Bool = false
    ) {
      (self.key, self.productId, self.boughtAt, self.paidAt) = (key, productId, boughtAt, paidAt)
      self.expiresAt = expiresAt
      (self.price, self.currency, self.hadOwner) = (price, currency, hadOwner)
    }
  }

  /// Reads a page, what was paid last first. It may be empty although another one follows. The number of a place is a
  /// time in microseconds.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970. What ended before is left out.
  ///   - window: see ``window``; a test takes a small one.
  /// - Throws: `PostgresError`.
  public func purchases(
    of publisherId: PublisherId, in environment: Environment, after place: ConsolePlace?, now: Int64, limit: Int,
    window: Int = ConsoleUnclaimed.window
  ) async throws -> ConsoleRows<Purchase> {
    var found: [Purchase] = []
    // No id is greater than this text.
    var before = place ?? ConsolePlace(.max, publisherId, "\u{10ffff}")
    for _ in 0..<Self.mostWindows {
      let rows = try await postgres.run(
        PostgresQuery(
          .listConsoleUnclaimed,
          [
            .id(publisherId), .id(environment), .int64(before.microseconds), .text(before.id),
            .int64(Int64(window)), .time(now), .int64(Int64(limit - found.count) + 1),
          ]))
      found += try rows.compactMap { try Purchase($0, publisherId, environment) }
      if found.count > limit { break }
      guard let row = rows.first, let last = try row.text("last_id"), let time = try row.int64("last_place"),
        try row.int64("looked") == Int64(window)
      else { return ConsoleRows(found) }
      before = ConsolePlace(time, publisherId, last)
    }
    guard found.count > limit else { return ConsoleRows(found, next: before) }
    return ConsoleRows(found, limit: limit) {
      ConsolePlace($0.paidAt * 1000, publisherId, $0.key.originalTransactionId.text)
    }
  }
}

extension ConsoleUnclaimed.Purchase {
  /// - Returns: `nil` for the row of a window without any.
  fileprivate init?(_ row: PostgresRow, _ publisherId: PublisherId, _ environment: Environment) throws {
    guard let original: OriginalTransactionId = try row.id("original_transaction_id") else { return nil }
    self.init(
      key: PurchaseKey(publisherId: publisherId, environment: environment, originalTransactionId: original),
      productId: try row.id("product_id") ?? "", boughtAt: try row.time("bought_at") ?? 0,
      paidAt: try row.time("purchase_date") ?? 0, expiresAt: try row.time("ends_at"), price: try row.int64("price"),
      currency: try row.id("currency"),
      hadOwner: try row.bool("had_owner") ?? false)
  }
}

extension PostgresStatement {
  /// It has one row at least: how much it has looked through, and how far.
  static let listConsoleUnclaimed = PostgresStatement(
    "console: list unclaimed purchases",
    """
    WITH part AS MATERIALIZED (
      SELECT original_transaction_id, product_id, coalesce(original_purchase_date, purchase_date) AS bought_at,
        purchase_date, greatest(expires_date, grace_expires_date) AS ends_at, price, currency, had_owner,
        revocation_date IS NULL AND NOT is_upgraded AND ownership_type IS DISTINCT FROM 'FAMILY_SHARED' AS is_paid
      FROM purchases WHERE publisher_id = $1 AND environment = $2 AND customer_id IS NULL
        AND (purchase_date, original_transaction_id) < (\(consoleTime("$3")), $4::text)
      ORDER BY purchase_date DESC, original_transaction_id DESC LIMIT $5)
    SELECT whole.looked, last.original_transaction_id AS last_id, last.place AS last_place, part.*
    FROM (SELECT count(*) AS looked FROM part) whole
      LEFT JOIN (
        SELECT original_transaction_id, \(consolePlace("purchase_date")) AS place FROM part
        ORDER BY purchase_date, original_transaction_id LIMIT 1) last ON true
      LEFT JOIN part ON part.is_paid AND (part.ends_at IS NULL OR part.ends_at > $6)
    ORDER BY part.purchase_date DESC, part.original_transaction_id DESC LIMIT $7
    """)
}
