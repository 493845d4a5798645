public import Domain
import EventLoop
public import Postgres

/// What Apple says last about the next renewals of purchases: the console and the cards of customers show prices of it.
public enum RenewalPayloads {
  /// The most purchases that are looked at: each costs a look at all evidence of it.
  public static let most = 50

  /// Reads the payload of the newest renewal info of each purchase, by the order in which renewal info counts.
  ///
  /// - Parameters:
  ///   - purchases: ``most`` of them at most are looked at.
  ///   - time: after it, PostgreSQL gives up.
  /// - Throws: `PostgresError`.
  @LoopActor
  public static func newest(
    of purchases: [PurchaseKey], within time: Duration, _ postgres: PostgresClient
  ) async throws -> [PurchaseKey: [UInt8]] {
    let keys = Array(purchases.prefix(most))
    guard !keys.isEmpty else { return [:] }
    let query = PostgresQuery(
      .readNewestRenewals,
      [.ids(keys.map(\.publisherId)), .ids(keys.map(\.environment)), .ids(keys.map(\.originalTransactionId))])
    var found: [PurchaseKey: [UInt8]] = [:]
    for row in try await postgres.limited(to: time, [query])[0] {
      guard let place = try row.int64("place"), keys.indices.contains(Int(place) - 1) else { continue }
      found[keys[Int(place) - 1]] = try row.bytes("payload")
    }
    return found
  }
}

extension PostgresStatement {
  static let readNewestRenewals = PostgresStatement(
    "purchases: read newest renewals", isByKeys: true,
    """
    SELECT asked.place, newest.payload
    FROM unnest($1::bigint[], $2::text[], $3::text[]) WITH ORDINALITY AS asked (publisher, environment, original, place)
    CROSS JOIN LATERAL (
      SELECT payload FROM evidence
      WHERE publisher_id = asked.publisher AND environment = asked.environment
        AND original_transaction_id = asked.original AND kind = 'renewalInfo'
      ORDER BY signed_date DESC, payload_sha256 DESC LIMIT 1) AS newest
    """)
}
