@testable public import Postgres

/// A test's own statement has a column or two, and no name for them. Another type than the test says stops it.
extension PostgresRow {
  public func int64(_ place: Int) -> Int64? { value(place, int64) }
  public func int32(_ place: Int) -> Int32? { value(place, int32) }
  public func bool(_ place: Int) -> Bool? { value(place, bool) }
  public func text(_ place: Int) -> String? { value(place, text) }
  public func bytes(_ place: Int) -> [UInt8]? { value(place, bytes) }
  public func time(_ place: Int) -> Int64? { value(place, time) }
  public func uuid(_ place: Int) -> String? { value(place, uuid) }
  public func texts(_ place: Int) -> [String]? { value(place, texts) }

  private func value<Value>(_ place: Int, _ read: (PostgresColumn) throws(PostgresError) -> Value?) -> Value? {
    do throws(PostgresError) {
      return try read(PostgresColumn("by position", place: Int32(place)))
    } catch {
      preconditionFailure("\(error)")
    }
  }
}
