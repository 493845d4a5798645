public import Domain

/// How many calls to Apple an import needs, and how long they take.
public struct ImportPlan: Sendable, Equatable {
  /// Purchases to verify.
  public let rows: Int
  /// How many of them are verified in a second, at most.
  public let rowsPerSecond: Double

  /// Plans.
  ///
  /// A purchase needs one call if it is active, and otherwise at most one call to each of two endpoints. So an import
  /// at this pace never takes more than its share of either budget, in production.
  ///
  /// - Parameters:
  ///   - callsPerSecond: the budget of one endpoint.
  ///   - share: the part of it that the import may use.
  public init(rows: Int, callsPerSecond: Double, share: Double) {
    self.rows = rows
    rowsPerSecond = callsPerSecond * share
  }

  /// The fewest calls: all purchases are active.
  public var fewestCalls: Int { rows }
  /// The most calls in production: no purchase is active.
  public var mostCalls: Int { 2 * rows }
  /// How long it takes, in seconds.
  public var seconds: Int64 { Int64(clamping: Int(exactly: (Double(rows) / rowsPerSecond).rounded(.up)) ?? .max) }
}

extension ImportRow {
  /// The id of the row's synchronization. The same row has the same id in every run and in every file, so the ledger
  /// finalizes it once.
  ///
  /// - Parameters:
  ///   - round: names another pass over rows that were imported before.
  public func synchronizationId(round: Int) -> SynchronizationId {
    SynchronizationId("import-\(round)-" + hash)
  }
}
