public import Domain
public import EventLoop
public import Postgres

/// Reads the imports over HTTP of several publishers, for the console.
@LoopActor
public struct ConsoleImports {
  private let postgres: PostgresClient

  /// Creates a reader over a client.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Reads a page of imports, the newest first. A publisher keeps few, so all of them are sorted.
  ///
  /// - Throws: `PostgresError`, or `UnreadableRecord` for a row that this code cannot read.
  public func imports(
    of publishers: [PublisherId], after place: ConsolePlace?, limit: Int
  ) async throws -> ConsoleRows<UploadedImport> {
    guard !publishers.isEmpty else { return ConsoleRows() }
    let place = place ?? ConsolePlace(.max, PublisherId(.max), "")
    let rows = try await postgres.run(
      PostgresQuery(
        .listConsoleImports,
        [
          .ids(publishers), .time(place.time), .id(place.publisherId), .text(place.id), .int64(Int64(limit) + 1),
        ]))
    return ConsoleRows(try UploadedImportRow.table.records(rows).map(\.one), limit: limit) {
      ConsolePlace($0.createdAt, $0.publisherId, $0.id.text)
    }
  }
}

extension PostgresStatement {
  fileprivate static let listConsoleImports = PostgresStatement(
    "console: list imports",
    """
    SELECT \(UploadedImportRow.table.selected("i")) FROM imports i
    WHERE i.publisher_id = ANY ($1::bigint[]) AND i.created_at <= $2
      AND (i.created_at, i.publisher_id, i.id) < ($2, $3, $4)
    ORDER BY i.created_at DESC, i.publisher_id DESC, i.id DESC LIMIT $5
    """)
}
