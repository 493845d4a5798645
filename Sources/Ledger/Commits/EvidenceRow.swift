import Crypto
import Domain
import Formats
import Postgres

/// The rows of `evidence` and `certificate_chains`.
enum EvidenceRow {
  /// One piece with the purchase that it is about.
  struct Piece {
    let key: PurchaseKey
    let evidence: Evidence
    let headerSHA256: [UInt8]
    let receivedAt: Int64
  }

  /// A JWS header with its certificates. All texts of one chain have the same header.
  struct Chain {
    let sha256: [UInt8]
    let header: [UInt8]
  }

  /// The rows, in the order of their primary keys, each key once. Of two statuses beside one renewal info, the greater
  /// one counts, as in ``Domain/ReportedStatus``.
  static func rows(
    _ evidence: [PurchaseEvidence], receivedAt: Int64, knownChains: Set<[UInt8]>
  ) -> (pieces: [Piece], chains: [Chain]) {
    // Apple's headers have 4 KB, and nearly all are the same. To compare two costs less than a dictionary's hash.
    var headers: [Chain] = []
    let pieces = evidence.map { new in
      let (key, piece) = (new.purchase, new.piece)
      if let known = headers.first(where: { $0.header == piece.signedHeader }) {
        return Piece(key: key, evidence: piece, headerSHA256: known.sha256, receivedAt: receivedAt)
      }
      let chain = Chain(sha256: SHA256.hash(piece.signedHeader), header: piece.signedHeader)
      headers.append(chain)
      return Piece(key: key, evidence: piece, headerSHA256: chain.sha256, receivedAt: receivedAt)
    }
    var chains: [[UInt8]: [UInt8]] = [:]
    for chain in headers where !knownChains.contains(chain.sha256) { chains[chain.sha256] = chain.header }
    var rows: [Piece] = []
    for piece in pieces.sorted(by: isBefore) where rows.last.map({ isOtherKey($0, piece) }) ?? true {
      rows.append(piece)
    }
    return (
      rows,
      chains.map { Chain(sha256: $0.key, header: $0.value) }.sorted { $0.sha256.lexicographicallyPrecedes($1.sha256) }
    )
  }

  /// The order of the primary key; of pieces with one key, the greater status comes first.
  private static func isBefore(_ one: Piece, _ other: Piece) -> Bool {
    if isOtherKey(one, other) { return isLesserKey(one, other) }
    return (one.evidence.reportedStatus?.code ?? -1) > (other.evidence.reportedStatus?.code ?? -1)
  }

  private static func isOtherKey(_ one: Piece, _ other: Piece) -> Bool {
    one.key != other.key || one.evidence.payloadSHA256 != other.evidence.payloadSHA256
  }

  private static func isLesserKey(_ one: Piece, _ other: Piece) -> Bool {
    guard one.key == other.key else { return one.key < other.key }
    return one.evidence.payloadSHA256.lexicographicallyPrecedes(other.evidence.payloadSHA256)
  }

  static let table = Table<Piece>(
    "evidence", key: ["publisher_id", "environment", "original_transaction_id", "payload_sha256"]
  ) { columns in
    columns.written("publisher_id", .publisher) { $0.key.publisherId }
    columns.written("environment", .id(of: Environment.self)) { $0.key.environment }
    columns.written("original_transaction_id", .id(of: OriginalTransactionId.self)) { $0.key.originalTransactionId }
    columns.written("payload_sha256", .bytea) { $0.evidence.payloadSHA256 }
    columns.written("kind", .text, export: "kind") { $0.evidence.kind }
    columns.written("signed_date", .timestamptz, export: "signedDate") { $0.evidence.signedDate }
    columns.written("source", .text, export: "source") { $0.evidence.source.rawValue }
    columns.written("received_at", .timestamptz, export: "receivedAt") { $0.receivedAt }
    columns.written("header_sha256", .bytea) { $0.headerSHA256 }
    columns.written("payload", .bytea) { $0.evidence.payload }
    columns.written("signature", .bytea) { $0.evidence.signature }
    columns.written("status", .integer, isNullable: true, export: "status") { $0.evidence.reportedStatus?.code }
    columns.written("content_sha256", .bytea, isNullable: true) { $0.evidence.contentSHA256 }
  }

  static let chains = Table<Chain>("certificate_chains", key: ["sha256"]) { columns in
    columns.written("sha256", .bytea) { $0.sha256 }
    columns.written("header", .bytea) { $0.header }
  }

  /// The parameters of ``giveWay``.
  static func contents(_ pieces: [Piece]) -> [PostgresParameter] {
    [
      .ids(pieces.map(\.key.publisherId)), .ids(pieces.map(\.key.environment)),
      .ids(pieces.map(\.key.originalTransactionId)), .bytes(pieces.map(\.evidence.contentSHA256)),
    ]
  }

  /// The same piece may come again, from another worker too, and perhaps with a status of Apple's that was not beside
  /// it before.
  static let insert = PostgresStatement(
    "insert evidence",
    """
    INSERT INTO evidence AS t (\(table.names)) SELECT * FROM \(table.source)
    ON CONFLICT (publisher_id, environment, original_transaction_id, payload_sha256) DO UPDATE
      SET status = excluded.status WHERE excluded.status > coalesce(t.status, -1)
    """)

  /// Of pieces that differ in their dates only, the first one that came and the newest one stay (decision 0036). A
  /// piece with Apple's unsigned status gives way to one with a status only: the newest status counts.
  /// Pieces of earlier versions have no hash of their content, and stay.
  static let giveWay = PostgresStatement(
    "let evidence give way",
    """
    DELETE FROM evidence e USING (
      SELECT DISTINCT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bytea[])
        AS new (publisher_id, environment, original_transaction_id, content_sha256)) n
    WHERE e.publisher_id = n.publisher_id AND e.environment = n.environment
      AND e.original_transaction_id = n.original_transaction_id AND e.content_sha256 = n.content_sha256
      AND EXISTS (SELECT FROM evidence o WHERE o.publisher_id = e.publisher_id AND o.environment = e.environment
        AND o.original_transaction_id = e.original_transaction_id AND o.content_sha256 = e.content_sha256
        AND o.signed_date > e.signed_date AND (e.status IS NULL OR o.status IS NOT NULL))
      AND EXISTS (SELECT FROM evidence o WHERE o.publisher_id = e.publisher_id AND o.environment = e.environment
        AND o.original_transaction_id = e.original_transaction_id AND o.content_sha256 = e.content_sha256
        AND (o.received_at, o.payload_sha256) < (e.received_at, e.payload_sha256))
    """)

  static let insertChains = PostgresStatement(
    "insert chains",
    """
    INSERT INTO certificate_chains (\(chains.names)) SELECT * FROM \(chains.source) ON CONFLICT DO NOTHING
    """)
}

extension Evidence {
  /// The name of its kind.
  fileprivate var kind: String {
    switch facts {
    case .transaction: "transaction"
    case .renewalInfo: "renewalInfo"
    }
  }

  /// Apple's unsigned status beside it.
  fileprivate var reportedStatus: ReportedStatus? {
    guard case .renewalInfo(_, let status) = facts else { return nil }
    return status
  }
}
