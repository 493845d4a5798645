import Crypto
public import Domain
import EventLoop
public import Postgres

/// A piece that Apple signed, decoded, for the console and for cards of customers. Times are milliseconds since 1970.
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
        .int64(purchase.publisherId), .id(purchase.environment), .id(purchase.originalTransactionId),
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

  /// The most purchases whose renewals are read at once.
  public static let mostRenewals = 50

  /// Reads the payload of the newest renewal info of each purchase, by the order in which renewal info counts.
  ///
  /// - Parameter purchases: ``mostRenewals`` of them at most are looked at.
  /// - Throws: `PostgresError`.
  @LoopActor
  public static func renewals(
    of purchases: [PurchaseKey], _ postgres: PostgresClient
  ) async throws -> [PurchaseKey: [UInt8]] {
    let keys = Array(purchases.prefix(mostRenewals))
    guard !keys.isEmpty else { return [:] }
    let rows = try await postgres.run(
      PostgresQuery(
        .readConsoleRenewals,
        [
          .int64s(keys.map(\.publisherId)), .ids(keys.map(\.environment)), .ids(keys.map(\.originalTransactionId)),
        ]))
    var found: [PurchaseKey: [UInt8]] = [:]
    for row in rows {
      guard let place = try row.int64("place"), keys.indices.contains(Int(place) - 1) else { continue }
      found[keys[Int(place) - 1]] = try row.bytes("payload")
    }
    return found
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

  static let readConsoleRenewals = PostgresStatement(
    "console: read newest renewals", isByKeys: true,
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
