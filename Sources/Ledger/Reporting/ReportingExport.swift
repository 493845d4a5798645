public import Domain
public import EventLoop
public import Postgres

/// Reads a view of the schema `reporting` as CSV, all of it from one moment.
@LoopActor
public struct ReportingExport {
  private let postgres: PostgresClient

  /// How many rows the ledger sends at once.
  private static let page = 2000

  /// Creates an export over a client whose connection nobody else needs meanwhile.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Reads a view, and gives its lines to a writer, the names of the columns first.
  ///
  /// It holds one page of rows in memory, however many there are. While it runs, PostgreSQL cannot clean up rows that
  /// changed since it began.
  ///
  /// - Parameters:
  ///   - publisher: only this publisher's rows; `nil` for all.
  ///   - write: takes the bytes of some lines.
  /// - Returns: how many rows there were.
  /// - Throws: `PostgresError`, or the error of `write`.
  public func read(
    _ view: ReportingView, publisher: PublisherId?, to write: @LoopActor ([UInt8]) async throws -> Void
  ) async throws -> Int64 {
    try await postgres.transaction { transaction in
      _ = try await transaction.query(PostgresQuery(.oneMoment))
      let columns = try await transaction.query(PostgresQuery(.columnsOfView, [.text(view.rawValue)]))
        .map { Column(name: try $0.text("name") ?? "", type: try $0.text("type") ?? "") }
      try await write(CSVField.line(columns.map { .text($0.name) }))
      _ = try await transaction.query(Self.open(view, columns, publisher))
      let fetch = PostgresQuery(PostgresStatement("export fetch", "FETCH \(Self.page) FROM exported"))
      var count: Int64 = 0
      while true {
        let rows = try await transaction.query(fetch)
        guard !rows.isEmpty else { return count }
        count += Int64(rows.count)
        try await write(try Self.lines(rows))
      }
    }
  }

  private struct Column {
    let name: String
    let type: String

    /// The column's value as text. Times are RFC 3339, in UTC.
    var text: String {
      type == "timestamp with time zone"
        ? "to_char(\(name) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')" : "\(name)::text"
    }

    /// `n`, `t` or `v`: which ``CSVField`` the value is.
    var form: String { "CASE WHEN \(name) IS NULL THEN 'n' ELSE '\(type == "text" ? "t" : "v")' END" }
  }

  private static func open(_ view: ReportingView, _ columns: [Column], _ publisher: PublisherId?) -> PostgresQuery {
    let texts = columns.map { "coalesce(\($0.text), '')" }.joined(separator: ", ")
    let forms = columns.map(\.form).joined(separator: " || ")
    // A publisher's number has no form that SQL could take for anything else.
    let rows = publisher.map { " WHERE publisher_id = \($0)" } ?? ""
    return PostgresQuery(
      PostgresStatement(
        "export open \(view.rawValue)\(publisher.map { " \($0)" } ?? "")",
        """
        DECLARE exported NO SCROLL CURSOR FOR
        SELECT ARRAY[\(texts)]::text[] AS texts, \(forms) AS forms FROM reporting.\(view.rawValue)\(rows)
        """))
  }

  private static func lines(_ rows: PostgresRows) throws -> [UInt8] {
    let (texts, forms) = (try rows.column("texts"), try rows.column("forms"))
    var lines: [UInt8] = []
    for row in rows {
      let fields = zip(try row.texts(texts) ?? [], (try row.text(forms) ?? "").utf8).map { text, form in
        switch form {
        case UInt8(ascii: "n"): CSVField.null
        case UInt8(ascii: "t"): CSVField.text(text)
        default: CSVField.value(text)
        }
      }
      lines += CSVField.line(fields)
    }
    return lines
  }
}

extension PostgresStatement {
  fileprivate static let columnsOfView = PostgresStatement(
    "columns of view",
    """
    SELECT a.attname::text AS name, format_type(a.atttypid, a.atttypmod) AS type
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace = 'reporting'::regnamespace AND c.relname = $1 AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum
    """)
}
