import Domain
import Formats
import JSON
import Postgres

/// The shape of a row as a JSON object: its columns and the member that each of them becomes.
///
/// A document that tells whatever a table holds has members by the dozen. A type for each would repeat the table.
struct RowDocument: Sendable {
  /// How a column becomes JSON. NULL leaves the member out.
  enum Form: Sendable {
    case text, number, flag, time, uuid
    /// The column holds JSON, as bytes.
    case json
    /// The column holds told entitlements. The document shows them as events do.
    case told
  }

  /// A column and its member.
  struct Column: Sendable {
    let name: String
    let member: StaticString
    let form: Form

    init(_ name: String, _ member: StaticString, _ form: Form = .text) {
      self.name = name
      self.member = member
      self.form = form
    }
  }

  let columns: [Column]
  /// The columns as SQL writes them, under the names of the members.
  let sql: String

  /// - Parameter columns: in the order of the members.
  init(_ columns: [Column]) {
    self.columns = columns
    sql = columns.map { "\($0.name) AS \"\($0.member)\"" }.joined(separator: ", ")
  }

  /// A row as JSON.
  ///
  /// - Parameter more: writes further members behind the columns'.
  func json(_ row: PostgresRow, more: (inout JSONWriter) throws -> Void = { _ in }) throws -> [UInt8] {
    try JSONWriter.object { writer in
      try write(row, to: &writer)
      try more(&writer)
    }
  }

  /// Writes a row's members.
  func write(_ row: PostgresRow, to writer: inout JSONWriter) throws {
    for column in columns {
      let place = PostgresColumn(stringLiteral: column.member)
      switch column.form {
      case .text: writer.member(column.member, try row.text(place))
      case .number: writer.member(column.member, try row.int64(place))
      case .flag: writer.member(column.member, try row.bool(place))
      case .time: writer.member(column.member, try row.time(place).map(rfc3339(milliseconds:)))
      case .uuid: writer.member(column.member, try row.uuid(place))
      case .json: writer.member(column.member, json: try row.bytes(place))
      case .told:
        let told = try row.bytes(place).flatMap { try? ToldEntitlement.list(from: $0) } ?? []
        writer.member(column.member, array: told.map { entitlement in JSONWriter.object { entitlement.tell(to: &$0) } })
      }
    }
  }
}
