import CPQ
import Glibc

/// A result of libpq.
final class PostgresResult: @unchecked Sendable {
  // Sendable is right: a result does not change after libpq has returned it, and threads may pass it around ("Behavior
  // in Threaded Programs" in libpq's manual). Only `deinit` frees it.
  private let handle: OpaquePointer
  /// The number of rows.
  let count: Int
  private let columns: Int32
  /// The statement's name.
  private let operation: String
  /// Host and port.
  private let target: String

  /// Takes the ownership of a result.
  ///
  /// - Parameters:
  ///   - operation: the statement's name, for errors.
  ///   - target: host and port, for errors.
  init(_ handle: OpaquePointer, operation: String, target: String) {
    self.handle = handle
    self.operation = operation
    self.target = target
    count = Int(PQntuples(handle))
    columns = PQnfields(handle)
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

  /// The number of a column.
  ///
  /// - Parameter start: where to begin; after the last column the first one follows.
  func place(of name: StaticString, from start: Int32) throws(PostgresError) -> Int32 {
    // The bytes of a literal end with a zero, as libpq's names do.
    let bytes = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    var place = start
    for _ in 0..<columns {
      if place >= columns { place = 0 }
      if strcmp(PQfname(handle, place), bytes) == 0 { return place }
      place += 1
    }
    throw unreadable(PostgresColumn(name, place: -1), "is missing")
  }

  /// The bytes of a value; `nil` for NULL. They are valid as long as this object.
  func bytes(_ row: Int32, _ column: PostgresColumn) throws(PostgresError) -> UnsafeRawBufferPointer? {
    let place = column.place < 0 ? try self.place(of: column.name, from: 0) : column.place
    // The place may be that of another result.
    guard place < columns else { throw unreadable(column, "is missing") }
    guard PQgetisnull(handle, row, place) == 0 else { return nil }
    return UnsafeRawBufferPointer(
      start: PQgetvalue(handle, row, place), count: Int(PQgetlength(handle, row, place)))
  }

  /// An error about a column.
  func unreadable(_ column: PostgresColumn, _ problem: String) -> PostgresError {
    PostgresError(
      .unreadable, operation: operation, target: target,
      cause: "the column \(column.name) of the result \(problem); has the schema been changed by hand?")
  }
}
