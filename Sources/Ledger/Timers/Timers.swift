import Domain
public import EventLoop
import Formats
public import Postgres

/// The timers of purchases: the column `due_at` of each. A worker that takes a due one moves it forward, so nobody else
/// has it for a while. If that worker dies, another one takes it then.
@LoopActor
public struct Timers {
  private let postgres: PostgresClient

  /// For so long nobody else looks at a purchase that a worker has taken.
  public nonisolated static let lease = Duration.seconds(300)

  /// An app of a publisher's, with how many of its timers may be taken now.
  public struct Share: Sendable {
    let publisherId: Int64
    let bundleId: String
    let most: Int

    /// Creates a share.
    public init(publisherId: Int64, bundleId: String, most: Int) {
      self.publisherId = publisherId
      self.bundleId = bundleId
      self.most = most
    }
  }

  /// Creates the timers of a ledger.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Takes due timers, of each app the latest ones first: after an outage, the purchases that ended last matter most.
  ///
  /// - Parameters:
  ///   - shares: the apps, in the order in which they get their turn.
  ///   - limit: the most timers of all.
  /// - Throws: `PostgresError`.
  public func takeDue(_ shares: [Share], limit: Int) async throws -> [DuePurchase] {
    guard limit > 0, !shares.isEmpty else { return [] }
    let rows = try await postgres.run(
      PostgresQuery(
        .takeDue,
        [
          .int64s(shares.map(\.publisherId)), .texts(shares.map(\.bundleId)), .int64s(shares.map { Int64($0.most) }),
          .int64(Int64(limit)), .int64(Int64(Self.lease / .milliseconds(1))),
        ]))
    return try rows.map(DuePurchase.init)
  }

  /// After a look, the next one that something unsigned asks for comes so much later at the earliest.
  public nonisolated static let pauseOfHints = Duration.seconds(600)

  /// Lets Apple be asked about a purchase soon, because something unsigned hints at a change. The hint stays until
  /// Apple has answered a look, whatever else comes meanwhile.
  ///
  /// - Parameters:
  ///   - environments: in which the purchase may be.
  /// - Returns: whether the publisher has any of the purchases.
  /// - Throws: `PostgresError`.
  public func hint(
    _ publisherId: Int64, _ originalTransactionIds: [String], in environments: [String]
  ) async throws -> Bool {
    let rows = try await postgres.run(
      PostgresQuery(
        .hint,
        [
          .int64(publisherId), .texts(environments), .texts(originalTransactionIds),
          .int64(Int64(Self.pauseOfHints / .milliseconds(1))),
        ]))
    return !rows.isEmpty
  }

  /// How many timers are due, at most a limit, and since when the oldest one is, in milliseconds since 1970.
  ///
  /// - Throws: `PostgresError`.
  public func backlog(of publisherIds: [Int64], atMost limit: Int) async throws -> (count: Int, oldest: Int64?) {
    let rows = try await postgres.run(
      PostgresQuery(.backlog, [.int64s(publisherIds), .int64(Int64(limit))]))
    return (Int(rows.first?.int64(0) ?? 0), rows.first?.time(1))
  }
}

extension DuePurchase {
  fileprivate init(_ row: PostgresRow) throws {
    guard let publisher = row.int64(0), let environment = row.text(1), let original = row.text(2),
      let transaction = row.text(3), let bundle = row.text(4), let product = row.text(5),
      let kind = row.text(6).flatMap(ProductKind.init(rawValue:)), let bought = row.time(7), let due = row.time(8)
    else { throw UnreadableRecord("timer of \(row.text(2) ?? "")") }
    self.init(
      key: PurchaseKey(publisherId: publisher, environment: environment, originalTransactionId: original),
      transactionId: transaction, bundleId: bundle, productId: product, kind: kind, purchaseDate: bought, dueAt: due)
  }
}

extension PostgresStatement {
  /// A commit that has the row locked will set its timer anew anyway.
  fileprivate static let takeDue = PostgresStatement(
    "take due timers",
    """
    WITH due AS (
      SELECT d.* FROM unnest($1::bigint[], $2::text[], $3::bigint[]) WITH ORDINALITY
          AS a (publisher_id, bundle_id, most, place)
        CROSS JOIN LATERAL (
          SELECT p.publisher_id, p.environment, p.original_transaction_id, p.due_at FROM purchases p
          WHERE p.publisher_id = a.publisher_id AND p.bundle_id = a.bundle_id AND p.due_at <= now()
          ORDER BY p.due_at DESC LIMIT a.most FOR NO KEY UPDATE SKIP LOCKED) d
      LIMIT $4)
    UPDATE purchases p SET due_at = now() + $5 * interval '1 millisecond', looked_at = now() FROM due
    WHERE p.publisher_id = due.publisher_id AND p.environment = due.environment
      AND p.original_transaction_id = due.original_transaction_id
    RETURNING p.publisher_id, p.environment, p.original_transaction_id, p.transaction_id, p.bundle_id, p.product_id,
      p.kind, p.purchase_date, due.due_at
    """)

  /// Commits lock purchases in the order of their keys, too.
  fileprivate static let hint = PostgresStatement(
    "hint at purchases",
    """
    WITH hinted AS (
      SELECT k.publisher_id, k.environment, k.original_transaction_id,
        greatest(now(), k.looked_at + $4 * interval '1 millisecond') AS look_at
      FROM purchases k
      WHERE k.publisher_id = $1 AND k.environment = ANY($2) AND k.original_transaction_id = ANY($3)
      ORDER BY k.publisher_id, k.environment, k.original_transaction_id FOR NO KEY UPDATE)
    UPDATE purchases p SET due_at = least(p.due_at, h.look_at), recheck_at = least(p.recheck_at, h.look_at)
    FROM hinted h
    WHERE p.publisher_id = h.publisher_id AND p.environment = h.environment
      AND p.original_transaction_id = h.original_transaction_id
    RETURNING p.original_transaction_id
    """)

  fileprivate static let backlog = PostgresStatement(
    "backlog of timers",
    """
    SELECT count(*), min(due_at) FROM (
      SELECT p.due_at FROM purchases p WHERE p.publisher_id = ANY($1) AND p.due_at <= now() LIMIT $2) due
    """)
}
