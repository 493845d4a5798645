public import Domain
public import EventLoop
public import Postgres

/// The bytes of an import's file, or of its report.
public enum ImportPartKind: String, Sendable {
  case file, report
}

/// Reads and writes the parts of files and reports.
@LoopActor
public struct ImportParts {
  private let postgres: PostgresClient

  /// Creates them over a client.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Reads some bytes, all of one part; `nil` at the end.
  ///
  /// - Parameters:
  ///   - place: the first byte, from 0.
  ///   - most: the most bytes.
  /// - Throws: `PostgresError`.
  public func bytes(
    _ kind: ImportPartKind, of id: ImportId, _ publisher: PublisherId, at place: Int64, most: Int32
  ) async throws -> [UInt8]? {
    let rows = try await postgres.run(
      PostgresQuery(
        .readImportPart, [.id(publisher), .id(id), .text(kind.rawValue), .int64(place), .int32(most)]))
    guard let bytes = try rows.first?.bytes("bytes"), !bytes.isEmpty else { return nil }
    return bytes
  }

  static func insert(
    _ kind: ImportPartKind, of id: ImportId, _ publisher: PublisherId, at place: Int64, _ bytes: [UInt8]
  ) -> PostgresQuery {
    PostgresQuery(
      .insertImportPart, [.id(publisher), .id(id), .text(kind.rawValue), .int64(place), .bytes(bytes)])
  }

  static func delete(_ kind: ImportPartKind, of id: ImportId, _ publisher: PublisherId) -> PostgresQuery {
    PostgresQuery(.deleteImportParts, [.id(publisher), .id(id), .text(kind.rawValue)])
  }
}

extension PostgresStatement {
  fileprivate static let readImportPart = PostgresStatement(
    "read import part",
    """
    SELECT substring(p.bytes FROM least($4 - p.place, 2147483646)::integer + 1 FOR $5) AS bytes FROM import_parts p
    WHERE p.publisher_id = $1 AND p.import_id = $2 AND p.kind = $3 AND p.place <= $4 ORDER BY p.place DESC LIMIT 1
    """)

  fileprivate static let insertImportPart = PostgresStatement(
    "insert import part",
    "INSERT INTO import_parts (publisher_id, import_id, kind, place, bytes) VALUES ($1, $2, $3, $4, $5)")

  fileprivate static let deleteImportParts = PostgresStatement(
    "delete import parts", "DELETE FROM import_parts WHERE publisher_id = $1 AND import_id = $2 AND kind = $3")
}
