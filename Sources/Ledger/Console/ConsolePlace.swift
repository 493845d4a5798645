public import Domain
import Postgres

/// Where a page of a list ends: the list is in the order of these three.
public struct ConsolePlace: Sendable, Equatable {
  /// What the list is in order of, such as a time in milliseconds since 1970.
  public let number: Int64
  public let publisherId: PublisherId
  public let id: String

  /// Creates a place.
  public init(_ number: Int64, _ publisherId: PublisherId, _ id: String) {
    (self.number, self.publisherId, self.id) = (number, publisherId, id)
  }

  /// The number as a time that PostgreSQL can have, whatever an address says.
  var time: Int64 { max(0, min(number, 253_402_300_799_999)) }

  /// The number as a time in microseconds that PostgreSQL can have.
  var microseconds: Int64 { max(0, min(number, 253_402_300_799_000_000)) }

  /// As an address has it, such as `1764000000000.1001.0b0c1d9e`.
  public var text: String { "\(number).\(publisherId).\(id)" }

  /// Reads ``text``; `nil` for any other text.
  public init?(_ text: String) {
    let parts = text.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
    guard text.utf8.count <= 1024, !text.utf8.contains(0), parts.count == 3, let number = Int64(parts[0]),
      let publisher = PublisherId(parts[1])
    else { return nil }
    self.init(number, publisher, String(parts[2]))
  }
}

/// A page of a list.
public struct ConsoleRows<Row: Sendable>: Sendable {
  public let rows: [Row]
  /// Where the next page begins; `nil` on the last one.
  public let next: ConsolePlace?

  /// Creates a page.
  public init(_ rows: [Row] = [], next: ConsolePlace? = nil) { (self.rows, self.next) = (rows, next) }

  /// Makes a page of what was read with one row more than it shows.
  ///
  /// - Parameter place: of a row.
  public init(_ rows: [Row], limit: Int, place: (Row) -> ConsolePlace) {
    let shown = Array(rows.prefix(limit))
    self.init(shown, next: rows.count > limit ? shown.last.map(place) : nil)
  }
}

extension ConsoleRows {
  /// Makes a page of rows that were read, one more than it shows, with ``PostgresStatement/consolePlace(_:)`` as place.
  ///
  /// - Parameters:
  ///   - id: the column with the id of the place.
  ///   - read: reads a row.
  init(_ rows: PostgresRows, limit: Int, id: PostgresColumn, _ read: (PostgresRow) throws -> Row) throws {
    let shown = rows.prefix(limit)
    let last = rows.count > limit ? shown.last : nil
    self.init(
      try shown.map(read),
      next: try last.map { row in
        ConsolePlace(try row.int64("place") ?? 0, try row.id("publisher_id") ?? 0, try row.text(id) ?? "")
      })
  }
}

extension PostgresStatement {
  /// The place of a time, exact to the microsecond, as the column is.
  static func consolePlace(_ column: String) -> String { "(extract(epoch FROM \(column)) * 1000000)::bigint" }

  /// The time of a place that a parameter has.
  static func consoleTime(_ parameter: String) -> String {
    "('epoch'::timestamptz + \(parameter)::bigint * interval '1 microsecond')"
  }
}
