/// Names a column of a result.
///
/// A literal is a name, and each read looks for it among the result's names: for a row or two of a few columns.
/// ``PostgresRows/column(_:)`` and ``PostgresRows/columns(_:)`` look once for all rows of a result.
public struct PostgresColumn: Sendable, ExpressibleByStringLiteral {
  let name: StaticString
  /// The number of the column, which begins with 0; -1 before anybody has looked for the name.
  let place: Int32

  public init(stringLiteral name: StaticString) { self.init(name, place: -1) }

  init(_ name: StaticString, place: Int32) { (self.name, self.place) = (name, place) }
}

extension PostgresRows {
  /// Looks for a column. Of two columns with one name, it finds the first.
  ///
  /// - Throws: ``PostgresError`` with the code `unreadable` if the result has no such column.
  public func column(_ name: StaticString) throws(PostgresError) -> PostgresColumn {
    PostgresColumn(name, place: try result.place(of: name, from: 0))
  }

  /// Looks for columns. If the statement has them in this order, one comparison finds each.
  ///
  /// - Throws: as ``column(_:)``.
  public func columns(_ names: [StaticString]) throws(PostgresError) -> [PostgresColumn] {
    var columns: [PostgresColumn] = []
    columns.reserveCapacity(names.count)
    var next: Int32 = 0
    for name in names {
      let place = try result.place(of: name, from: next)
      columns.append(PostgresColumn(name, place: place))
      next = place + 1
    }
    return columns
  }
}
