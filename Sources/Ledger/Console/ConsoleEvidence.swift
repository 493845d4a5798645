import Crypto
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
  /// The text as Apple signed it: header, payload and signature in base64url. `nil` if the ledger has no header or no
  /// signature of it.
  public let jws: String?

  /// Creates a piece.
  ///
  /// - Parameter header: the first part of the JWS, as it stands there.
  public init(
    kind: String, source: String, signedAt: Int64, receivedAt: Int64, payload: [UInt8], header: String? = nil,
    signature: [UInt8] = []
  ) {
    (self.kind, self.source, self.signedAt, self.receivedAt) = (kind, source, signedAt, receivedAt)
    self.payload = payload
    jws = header.flatMap { header in
      signature.isEmpty ? nil : "\(header).\(Base64URL.encode(payload)).\(Base64URL.encode(signature))"
    }
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
        .id(purchase.publisherId), .id(purchase.environment), .id(purchase.originalTransactionId),
        .int64(Int64(limit)),
      ])
    return try await postgres.limited(to: time, [query]).joined().map { row in
      ConsoleEvidence(
        kind: try row.text("kind") ?? "", source: try row.text("source") ?? "",
        signedAt: try row.time("signed_date") ?? 0, receivedAt: try row.time("received_at") ?? 0,
        payload: try row.bytes("payload") ?? [], header: try row.text("header"),
        signature: try row.bytes("signature") ?? [])
    }
  }
}

extension PostgresStatement {
  fileprivate static let readConsoleEvidence = PostgresStatement(
    "console: read evidence",
    """
    SELECT e.kind, e.source, e.signed_date, e.received_at, e.payload, e.signature,
      convert_from(c.header, 'UTF8') AS header
    FROM (
      SELECT kind, source, signed_date, received_at, payload, signature, header_sha256 FROM evidence
      WHERE publisher_id = $1 AND environment = $2 AND original_transaction_id = $3
      ORDER BY signed_date DESC, kind LIMIT $4) AS e
    LEFT JOIN certificate_chains c ON c.sha256 = e.header_sha256
    ORDER BY e.signed_date DESC, e.kind
    """)
}
