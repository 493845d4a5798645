public import Domain
import Formats
public import JSON

/// What became of a row.
public struct ImportedRow: Sendable {
  public let row: ImportRow
  public let result: SynchronizationResult
  /// The purchase as the ledger has it now; `nil` if there is none.
  public let purchase: Purchase?

  /// Creates it.
  public init(_ row: ImportRow, _ result: SynchronizationResult, _ purchase: Purchase?) {
    (self.row, self.result, self.purchase) = (row, result, purchase)
  }

  /// The customer who owns the purchase in place of the row's.
  public var otherOwner: CustomerId? {
    guard let owner = purchase?.owner, !owner.is(row.customerId) else { return nil }
    return owner.customerId
  }

  /// What the file claims, and Apple does not say.
  ///
  /// - Parameter now: milliseconds since 1970.
  public func differences(now: Int64) -> [String] {
    var differences: [String] = []
    if let offer = row.claim.offerId, result.accessGranted, result.offerId != offer { differences.append("offer") }
    if let end = row.claim.expiresAt, end > now, !result.accessGranted { differences.append("access") }
    if let end = row.claim.expiresAt, end <= now, result.accessGranted { differences.append("access") }
    if let bought = row.claim.purchasedAt, let purchase {
      let facts = purchase.transactions.values
      let dates = facts.map(\.purchaseDate) + facts.compactMap(\.originalPurchaseDate)
      // Exports leave the milliseconds out.
      if !dates.contains(where: { $0 / 1000 == bought / 1000 }) { differences.append("purchasedAt") }
    }
    return differences
  }

  /// The row's line of a report, with its line end.
  public func line(now: Int64) -> [UInt8] {
    let differences = differences(now: now)
    return JSONWriter.object { json in
      json.member("line", Int64(row.line))
      json.member("customerId", row.customerId)
      json.member("transactionId", row.transactionId)
      json.member("vendorId", row.claim.vendorId)
      json.member("result", result.code.rawValue)
      json.member("accessGranted", result.accessGranted)
      json.member("offerId", result.offerId)
      json.member("originalTransactionId", result.originalTransactionId)
      json.member("environment", result.environment)
      json.member("owner", otherOwner)
      json.member("claimedOffer", differences.contains("offer") ? row.claim.offerId : nil)
      json.member(
        "claimedExpiry", differences.contains("access") ? row.claim.expiresAt.map(rfc3339(milliseconds:)) : nil)
      json.member("differs", array: differences.map { Array("\"\($0)\"".utf8) })
    } + [0x0a]
  }
}

/// The counts of an import.
public struct ImportSummary: Sendable, Equatable {
  public private(set) var rows = 0
  public private(set) var withAccess = 0
  /// Rows whose purchase another customer owns.
  public private(set) var conflicts = 0
  /// Rows whose claims differ from what Apple says.
  public private(set) var different = 0
  /// Rows that had a result before this run.
  public var earlier = 0
  /// Rows whose results the ledger has deleted since, because of their age.
  public var forgotten = 0
  /// By the result's code.
  public private(set) var results: [String: Int] = [:]

  /// Creates an empty one.
  public init() {}

  /// Counts a row.
  public mutating func count(_ row: ImportedRow, now: Int64) {
    rows += 1
    if row.result.accessGranted { withAccess += 1 }
    if row.otherOwner != nil { conflicts += 1 }
    if !row.differences(now: now).isEmpty { different += 1 }
    results[row.result.code.rawValue, default: 0] += 1
  }

  /// Writes the counts, without those of the results.
  public func write(to json: inout JSONWriter) {
    json.member("rows", Int64(rows))
    json.member("withAccess", Int64(withAccess))
    json.member("conflicts", Int64(conflicts))
    json.member("different", Int64(different))
    json.member("earlier", Int64(earlier))
    json.member("forgotten", Int64(forgotten))
  }
}
