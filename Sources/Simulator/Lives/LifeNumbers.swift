/// The numbers that the simulator gives out. No two lives get the same.
struct LifeNumbers: Equatable, Sendable {
  private var lastTransaction: Int64
  private var lastRevision: Int64 = 0

  /// - Parameter start: UNIX milliseconds. A later start of the simulator gives other numbers, because a ledger may
  ///   still have the purchases of an earlier one.
  init(start: Int64) { lastTransaction = start * 1000 }

  /// The id of the next transaction: sixteen digits, as Apple's.
  mutating func transaction() -> String {
    lastTransaction += 1
    return String(lastTransaction)
  }

  /// The number of the next change.
  mutating func revision() -> Int64 {
    lastRevision += 1
    return lastRevision
  }
}
