public import Domain
public import JSON

/// How many calls to Apple an import needs, and how long they take.
public struct ImportPlan: Sendable, Equatable {
  /// Purchases to verify.
  public let rows: Int
  /// Those of them whose signed transaction is enough. They need no call, and wait for none.
  public let signed: Int
  /// How many of the others are verified in a second, at most.
  public let rowsPerSecond: Double

  /// Plans.
  ///
  /// A purchase needs one call if it is active, and otherwise at most one call to each of two endpoints. So an import
  /// at this pace never takes more than its share of either budget, in production.
  ///
  /// - Parameters:
  ///   - signed: how many rows need no call.
  ///   - callsPerSecond: the budget of one endpoint.
  ///   - share: the part of it that the import may use.
  public init(rows: Int, signed: Int = 0, callsPerSecond: Double, share: Double) {
    (self.rows, self.signed) = (rows, signed)
    rowsPerSecond = callsPerSecond * share
  }

  /// Plans for a file.
  public init(_ file: ImportFile, callsPerSecond: Double, share: Double) {
    self.init(rows: file.rows.count, signed: file.rows.signedCount, callsPerSecond: callsPerSecond, share: share)
  }

  /// The fewest calls: all purchases are active.
  public var fewestCalls: Int { rows - signed }
  /// The most calls in production: no purchase is active.
  public var mostCalls: Int { 2 * fewestCalls }
  /// How long the calls take, in seconds.
  public var seconds: Int64 {
    Int64(clamping: Int(exactly: (Double(fewestCalls) / rowsPerSecond).rounded(.up)) ?? .max)
  }
}

extension ImportFile {
  /// Writes what the file has besides the rows that can be imported.
  public func writeCounts(to json: inout JSONWriter) {
    json.member("repeated", Int64(repeated))
    json.member("otherStores", Int64(otherStores))
    if preset.name == .countersign {
      json.member("customers", Int64(exported.customers))
      json.member("grants", Int64(exported.grants.count))
      json.member("unowned", Int64(exported.unowned))
      json.member("sandboxAccess", Int64(exported.sandboxAccess.count))
      json.member("grantsOverLimit", Int64(exported.grantsOverLimit))
    }
    json.member("problems", Int64(problemCount))
  }

  /// Writes a plan for the file.
  public func write(_ plan: ImportPlan, to json: inout JSONWriter) {
    json.member("rows", Int64(plan.rows))
    json.member("fewestCalls", Int64(plan.fewestCalls))
    json.member("mostCalls", Int64(plan.mostCalls))
    json.member("seconds", plan.seconds)
    json.member("signed", Int64(plan.signed))
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
