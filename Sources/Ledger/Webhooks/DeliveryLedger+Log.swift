public import Domain
import EventLoop
import Formats
import Postgres

/// Some attempts of a log, the newest first.
public struct AttemptPage: Sendable, Equatable {
  public var entries: [Entry]
  /// The attempts alone.
  public var attempts: [DeliveryAttempt] { entries.map(\.attempt) }
  /// The start of the next page; `nil` when this was the last one.
  ///
  /// A page with a filter may be short, or empty, and still not be the last one.
  public var next: String?

  /// Creates a page.
  public init(entries: [Entry], next: String?) {
    self.entries = entries
    self.next = next
  }

  /// An attempt, with the start of a page behind it.
  public struct Entry: Sendable, Equatable {
    public let attempt: DeliveryAttempt
    /// As ``AttemptPage/next``.
    public let cursor: String

    /// Creates an entry.
    public init(_ attempt: DeliveryAttempt, cursor: String) { (self.attempt, self.cursor) = (attempt, cursor) }
  }
}

/// The place of an attempt in a log: its time in milliseconds, and its number.
struct AttemptCursor: Equatable {
  let at: Int64
  let id: Int64

  /// A place before the newest attempt.
  static let start = AttemptCursor(at: .max, id: .max)

  init(at: Int64, id: Int64) { (self.at, self.id) = (at, id) }

  /// Reads a cursor that ``text`` wrote; `nil` for any other text.
  init?(_ text: String) {
    let words = text.split(separator: "-", omittingEmptySubsequences: false)
    // The pattern of docs/reference/openapi.yaml: no time begins with a zero, nor lies beyond PostgreSQL's.
    guard words.count == 2, words[0].isASCIIDigits(1...15), words[0].first != "0", words[1].isASCIIDigits(1...19),
      let at = Int64(words[0])
    else { return nil }
    let id = Int64(words[1]) ?? .max
    self.init(at: at, id: id)
  }

  var text: String { "\(at)-\(id)" }
}

extension AttemptRow {
  fileprivate var cursor: String { AttemptCursor(at: attempt.time, id: id).text }
}

extension DeliveryLedger {
  /// How many attempts a page with a filter looks at, so that a rare result does not keep the ledger busy.
  private static let window = 1000

  /// Reads the log of an endpoint.
  ///
  /// - Parameters:
  ///   - limit: the most attempts to return.
  ///   - cursor: ``AttemptPage/next`` of the page before; `nil` for the newest. ``isCursor(_:)`` must accept it.
  ///   - result: returns only attempts with this result.
  public func attempts(
    publisher: PublisherId, endpoint: EndpointId, limit: Int, cursor: String? = nil,
    result: DeliveryAttempt.Result? = nil
  ) async throws -> AttemptPage {
    let start = Self.start(cursor)
    let place: [PostgresParameter] = [.id(publisher), .id(endpoint), .time(start.at), .int64(start.id)]
    let found = PostgresQuery(
      .readEndpointLog, place + [.text(result?.rawValue), .int64(Int64(limit) + 1), .int64(Int64(Self.window))])
    guard result != nil else { return try Self.page(await postgres.run(found), limit) }
    let rows = try await postgres.run([
      found, PostgresQuery(.readWindowEnd, place + [.int64(Int64(Self.window) - 1)]),
    ])
    var page = try Self.page(rows[0], limit)
    if page.next == nil, let end = rows[1].first {
      page.next = AttemptCursor(at: try end.time("at") ?? 0, id: try end.int64("id") ?? 0).text
    }
    return page
  }

  /// Reads the log of an event, over all endpoints.
  ///
  /// - Parameters: as for an endpoint's log.
  public func attempts(
    publisher: PublisherId, event: EventId, limit: Int, cursor: String? = nil, result: DeliveryAttempt.Result? = nil
  ) async throws -> AttemptPage {
    let start = Self.start(cursor)
    let rows = try await postgres.run(
      PostgresQuery(
        .readEventLog,
        [
          .id(publisher), .id(event), .time(start.at), .int64(start.id), .text(result?.rawValue),
          .int64(Int64(limit) + 1),
        ]))
    return try Self.page(rows, limit)
  }

  /// Whether a text that a client sent can be a cursor: two numbers with a hyphen between them.
  public nonisolated static func isCursor(_ text: String) -> Bool { AttemptCursor(text) != nil }

  private static func start(_ cursor: String?) -> AttemptCursor { cursor.flatMap(AttemptCursor.init) ?? .start }

  private static func page(_ rows: PostgresRows, _ limit: Int) throws -> AttemptPage {
    let shown = try AttemptRow.table.records(rows).prefix(limit)
    let entries = shown.compactMap { row in row.known.map { AttemptPage.Entry($0, cursor: row.cursor) } }
    return AttemptPage(entries: entries, next: rows.count > limit ? shown.last?.cursor : nil)
  }
}

extension PostgresStatement {
  /// The condition on the time lets PostgreSQL leave out whole days.
  private static let behind = "at <= $3::timestamptz AND (at, id) < ($3::timestamptz, $4::bigint)"

  fileprivate static let readEndpointLog = PostgresStatement(
    "read log of an endpoint",
    """
    SELECT \(AttemptRow.table.selected("newest")) FROM (
      SELECT * FROM attempts WHERE publisher_id = $1 AND endpoint_id = $2 AND \(behind)
      ORDER BY at DESC, id DESC LIMIT $7) AS newest
    WHERE $5::text IS NULL OR outcome = $5
    ORDER BY at DESC, id DESC LIMIT $6
    """)

  fileprivate static let readWindowEnd = PostgresStatement(
    "read end of a window",
    """
    SELECT at, id FROM attempts WHERE publisher_id = $1 AND endpoint_id = $2 AND \(behind)
    ORDER BY at DESC, id DESC OFFSET $5 LIMIT 1
    """)

  fileprivate static let readEventLog = PostgresStatement(
    "read log of an event",
    """
    SELECT \(AttemptRow.table.selected("attempts")) FROM attempts
    WHERE event_id = $2 AND publisher_id = $1 AND \(behind) AND ($5::text IS NULL OR outcome = $5)
    ORDER BY at DESC, id DESC LIMIT $6
    """)
}
