public import Domain
public import EventLoop
import Formats
import JSON
public import Postgres

/// The timers of purchases: the column `due_at` of each. A worker that takes a due one moves it forward, so nobody else
/// has it for a while. If that worker dies, another one takes it then.
@LoopActor
public struct Timers {
  let postgres: PostgresClient

  /// For so long nobody else looks at a purchase that a worker has taken.
  public nonisolated static let lease = Duration.seconds(300)

  /// An app of a publisher's, with how many of its timers may be taken now.
  public struct Share: Sendable {
    let app: AppKey
    let most: Int

    /// Creates a share.
    public init(_ app: AppKey, most: Int) { (self.app, self.most) = (app, most) }
  }

  /// Creates the timers of a ledger.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Takes due timers, of each app the latest ones first: after an outage, the purchases that ended last matter most.
  ///
  /// - Parameters:
  ///   - apps: the apps, in the order in which they get their turn.
  ///   - publishers: their publishers, in the same way.
  ///   - limit: the most timers of all.
  ///   - unreadable: gets the error of each timer that this process cannot read. It is due again after its lease.
  /// - Throws: `PostgresError`.
  public func takeDue(
    _ apps: [Share], of publishers: [PublisherShare], limit: Int, unreadable: (any Error) -> Void
  ) async throws -> [DuePurchase] {
    guard limit > 0, !apps.isEmpty, !publishers.isEmpty else { return [] }
    let rows = try await postgres.run(
      PostgresQuery(
        .takeDue,
        publishers.parameters + [
          .texts(Self.lists(of: apps, publishers)), .int64(Int64(limit)),
          .int64(Int64(Self.lease / .milliseconds(1))),
        ]))
    return rows.readable(unreadable: unreadable, DuePurchase.init)
  }

  /// The apps of each publisher, in its order, as the JSON array that the statement reads. A list of all apps would be
  /// read for each publisher.
  private static func lists(of apps: [Share], _ publishers: [PublisherShare]) -> [String] {
    let byPublisher = Dictionary(grouping: apps, by: \.app.publisherId)
    return publishers.map { publisher in
      let list = JSONWriter.array(
        (byPublisher[publisher.publisherId] ?? []).map { share in
          JSONWriter.object {
            $0.member("bundle_id", share.app.bundleId)
            $0.member("most", Int64(share.most))
          }
        })
      return String(decoding: list, as: UTF8.self)
    }
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
    _ publisherId: PublisherId, _ originalTransactionIds: [OriginalTransactionId], in environments: [Environment]
  ) async throws -> Bool {
    let rows = try await postgres.run(
      PostgresQuery(
        .hint,
        [
          .id(publisherId), .ids(environments), .ids(originalTransactionIds),
          .int64(Int64(Self.pauseOfHints / .milliseconds(1))),
        ]))
    return !rows.isEmpty
  }

  /// Since when the oldest due timer of some apps waits, in milliseconds since 1970; `nil` if none is due.
  ///
  /// - Throws: `PostgresError`.
  public func oldestDue(of apps: [AppKey]) async throws -> Int64? {
    let rows = try await postgres.run(
      PostgresQuery(.oldestDue, [.ids(apps.map(\.publisherId)), .ids(apps.map(\.bundleId))]))
    return try rows.first?.time("oldest")
  }
}

extension DuePurchase {
  fileprivate init(_ row: PostgresRow) throws {
    let key = try PurchaseKey(row)
    guard let transaction: TransactionId = try row.id("transaction_id"), let bundle: BundleId = try row.id("bundle_id"),
      let product: ProductId = try row.id("product_id"),
      let kind = try row.text("kind").flatMap(ProductKind.init(rawValue:)),
      let bought = try row.time("purchase_date"), let due = try row.time("due_at")
    else { throw UnreadableRecord("timer of \(key.originalTransactionId)") }
    self.init(
      key: key, transactionId: transaction, bundleId: bundle, productId: product, kind: kind, purchaseDate: bought,
      dueAt: due)
  }
}

extension PostgresStatement {
  /// A commit that has the row locked will set its timer anew anyway.
  fileprivate static let takeDue = PostgresStatement(
    "take due timers",
    """
    WITH due AS (
      SELECT d.* FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS u (publisher_id, most, apps)
        CROSS JOIN LATERAL (
          SELECT u.publisher_id, t.environment, t.original_transaction_id, t.due_at
          FROM jsonb_to_recordset(u.apps::jsonb) AS a (bundle_id text, most bigint)
            CROSS JOIN LATERAL (
              SELECT p.environment, p.original_transaction_id, p.due_at FROM purchases p
              WHERE p.publisher_id = u.publisher_id AND p.bundle_id = a.bundle_id AND p.due_at <= now()
              ORDER BY p.due_at DESC LIMIT a.most FOR NO KEY UPDATE SKIP LOCKED) t
          LIMIT u.most) d
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

  fileprivate static let oldestDue = PostgresStatement(
    "oldest due timer",
    """
    SELECT min(t.due_at) AS oldest FROM unnest($1::bigint[], $2::text[]) AS a (publisher_id, bundle_id)
      CROSS JOIN LATERAL (
        SELECT p.due_at FROM purchases p
        WHERE p.publisher_id = a.publisher_id AND p.bundle_id = a.bundle_id AND p.due_at <= now()
        ORDER BY p.due_at LIMIT 1) t
    """)
}
