import CPQ

/// A result of libpq.
final class PostgresResult: @unchecked Sendable {
  // Sendable is right: a result does not change after libpq has returned it, and threads may pass it around ("Behavior
  // in Threaded Programs" in libpq's manual). Only `deinit` frees it.
  private let handle: OpaquePointer
  /// The number of rows.
  let count: Int

  /// Takes the ownership of a result.
  init(_ handle: OpaquePointer) {
    self.handle = handle
    count = Int(PQntuples(handle))
  }

  deinit { PQclear(handle) }

  /// The rows that the command counted.
  var affected: Int {
    var number = 0
    var next = PQcmdTuples(handle)!
    while next.pointee != 0 {
      number = number * 10 + Int(next.pointee) - Int(UInt8(ascii: "0"))
      next += 1
    }
    return number
  }

  /// The command as PostgreSQL tells it, for example `COMMIT` or `UPDATE 3`.
  var command: String { String(cString: PQcmdStatus(handle)) }

  /// The bytes of a value; `nil` for NULL. They are valid as long as this object.
  func bytes(_ row: Int32, _ column: Int) -> UnsafeRawBufferPointer? {
    let columns = PQnfields(handle)
    precondition(column >= 0 && column < Int(columns), "column \(column) of \(columns) columns")
    let column = Int32(truncatingIfNeeded: column)
    guard PQgetisnull(handle, row, column) == 0 else { return nil }
    return UnsafeRawBufferPointer(
      start: PQgetvalue(handle, row, column), count: Int(PQgetlength(handle, row, column)))
  }
}
