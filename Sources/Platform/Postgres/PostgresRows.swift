/// The rows that a query returned. They keep the memory of libpq's result until the last row is gone.
public struct PostgresRows: Sendable, RandomAccessCollection {
  let result: PostgresResult
  /// How many rows an INSERT, UPDATE or DELETE changed, or a SELECT returned.
  public var affected: Int { result.affected }

  public var startIndex: Int { 0 }
  public var endIndex: Int { result.count }

  public subscript(position: Int) -> PostgresRow {
    precondition(position >= 0 && position < endIndex, "row \(position) of \(endIndex) rows")
    return PostgresRow(result: result, row: Int32(position))
  }
}
