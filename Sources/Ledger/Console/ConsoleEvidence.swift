public import Domain
import EventLoop
public import Postgres

/// A piece that Apple signed, decoded, for the console. Times are milliseconds since 1970.
public struct ConsoleEvidence: Sendable, Equatable {
  /// `transaction` or `renewalInfo`.
  public let kind: String
  /// How it reached us.
  public let source: String
  public let signedAt: Int64
  public let receivedAt: Int64
  /// Apple's JSON.
  public let payload: [UInt8]

  /// Creates a piece.
  public init(kind: String, source: String, signedAt: Int64, receivedAt: Int64, payload: [UInt8]) {
    (self.kind, self.source, self.signedAt, self.receivedAt) = (kind, source, signedAt, receivedAt)
    self.payload = payload
  }

  /// Reads the newest pieces of a purchase.
  ///
  /// - Throws: `PostgresError`.
  @LoopActor
  public static func newest(
    of purchase: PurchaseKey, limit: Int, within time: Duration, _ postgres: PostgresClient
  ) async throws -> [ConsoleEvidence] {
    let query = PostgresQuery(
      .readConsoleEvidence,
      [
        .int64(purchase.publisherId), .id(purchase.environment), .id(purchase.originalTransactionId),
        .int64(Int64(limit)),
      ])
    return try await postgres.limited(to: time, [query]).joined().map { row in
      ConsoleEvidence(
        kind: try row.text("kind") ?? "", source: try row.text("source") ?? "",
        signedAt: try row.time("signed_date") ?? 0, receivedAt: try row.time("received_at") ?? 0,
        payload: try row.bytes("payload") ?? [])
    }
  }
}

extension PostgresStatement {
  fileprivate static let readConsoleEvidence = PostgresStatement(
    "console: read evidence",
    """
    SELECT kind, source, signed_date, received_at, payload FROM evidence
    WHERE publisher_id = $1 AND environment = $2 AND original_transaction_id = $3
    ORDER BY signed_date DESC, kind LIMIT $4
    """)
}
