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
  /// The columns as SQL writes them, in the order in which ``write(_:to:)`` reads them.
  let sql: String

  /// - Parameter columns: in the order of their members' names.
  init(_ columns: [Column]) {
    self.columns = columns
    sql = columns.map(\.name).joined(separator: ", ")
  }

  /// A row as JSON.
  ///
  /// - Parameter more: writes further members behind the columns'.
  func json(_ row: PostgresRow, more: (inout JSONWriter) -> Void = { _ in }) -> [UInt8] {
    JSONWriter.object { writer in
      write(row, to: &writer)
      more(&writer)
    }
  }

  /// Writes a row's members.
  func write(_ row: PostgresRow, to writer: inout JSONWriter) {
    for (place, column) in columns.enumerated() {
      switch column.form {
      case .text: writer.member(column.member, row.text(place))
      case .number: writer.member(column.member, row.int64(place))
      case .flag: writer.member(column.member, row.bool(place))
      case .time: writer.member(column.member, row.time(place).map(rfc3339(milliseconds:)))
      case .uuid: writer.member(column.member, row.uuid(place))
      case .json: writer.member(column.member, json: row.bytes(place))
      case .told:
        let told = row.bytes(place).flatMap { try? ToldEntitlement.list(from: $0) } ?? []
        writer.member(column.member, array: told.map { entitlement in JSONWriter.object { entitlement.tell(to: &$0) } })
      }
    }
  }
}
