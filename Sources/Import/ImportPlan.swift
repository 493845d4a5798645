public import Domain
public import JSON

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

extension ImportFile {
  /// Writes what the file has besides the rows that can be imported.
  public func writeCounts(to json: inout JSONWriter) {
    json.member("repeated", Int64(repeated))
    json.member("otherStores", Int64(otherStores))
    if preset == .countersign {
      json.member("customers", Int64(exported.customers))
      json.member("grants", Int64(exported.grants.count))
      json.member("unowned", Int64(exported.unowned))
    }
    json.member("problems", Int64(problemCount))
  }

  /// Writes a plan for the file.
  public func write(_ plan: ImportPlan, to json: inout JSONWriter) {
    json.member("rows", Int64(plan.rows))
    json.member("fewestCalls", Int64(plan.fewestCalls))
    json.member("mostCalls", Int64(plan.mostCalls))
    json.member("seconds", plan.seconds)
    writeCounts(to: &json)
  }
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
