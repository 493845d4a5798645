import Postgres

extension PostgresRows {
  /// Reads each row by itself: one that this process cannot read keeps no other from being worked on.
  ///
  /// A statement that takes due rows has moved them forward already. If one failure were the failure of all, each would
  /// wait for its lease, be taken with the same row again, and so on.
  ///
  /// - Parameter unreadable: gets the error of each row that cannot be read.
  func readable<Row>(unreadable: (any Error) -> Void, _ read: (PostgresRow) throws -> Row) -> [Row] {
    compactMap { row in
      do {
        return try read(row)
      } catch {
        unreadable(error)
        return nil
      }
    }
  }
}
