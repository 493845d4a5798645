public import Domain
public import JSON

/// What became of a row.
public struct ImportedRow: Sendable {
  public let row: ImportRow
  public let result: SynchronizationResult
  /// The purchase as the ledger has it now; `nil` if there is none.
  public let purchase: Purchase?
  /// When the purchase's access ends, or has ended, as Countersign decides now, in milliseconds since 1970; `nil` if
  /// there is no end or it is not known.
  public let expiresAt: Int64?
  /// Whether the row's customer has access now by the purchase. The result tells how it was when it was finalized.
  private let hasAccess: Bool
  private let now: Int64

  /// Creates it.
  ///
  /// - Parameters:
  ///   - publisher: the purchase's, with its present rules.
  ///   - now: milliseconds since 1970.
  public init(
    _ row: ImportRow, _ result: SynchronizationResult, _ purchase: Purchase?, publisher: Publisher, now: Int64
  ) {
    (self.row, self.result, self.purchase, self.now) = (row, result, purchase, now)
    let access = purchase.map { purchase in
      let rules =
        purchase.owner.map { publisher.accessRules(for: $0) }
        ?? publisher.accessRules(for: row.customerId, sandboxUntil: nil)
      return Access.of(purchase, rules: rules, now: now)
    }
    expiresAt = access?.expiresAt
    let isOwner = purchase?.owner?.is(row.customerId) ?? false
    hasAccess = isOwner ? access?.isGranted ?? false : result.accessGranted
  }

  /// The customer who owns the purchase in place of the row's.
  public var otherOwner: CustomerId? {
    guard let owner = purchase?.owner, !owner.is(row.customerId) else { return nil }
    return owner.customerId
  }

  /// What the file claims, and Apple does not say.
  public enum Difference: String, Sendable, Equatable {
    case offer
    /// Whether there is access now, by the file's end.
    case access
    /// The end of the access.
    case expiresAt
    /// The date of no transaction of the purchase.
    case purchasedAt
  }

  /// What the file claims, and Apple does not say. Times are compared to the second, because exports leave the
  /// milliseconds out.
  public var differences: [Difference] {
    var differences: [Difference] = []
    if let offer = row.claim.offerId, result.accessGranted, result.offerId != offer { differences.append(.offer) }
    if let end = row.claim.expiresAt {
      if (end > now) != hasAccess { differences.append(.access) }
      // Access without an end differs from every end. Without access, an end may not be known.
      let isOther = expiresAt.map { !Self.isSameSecond($0, end) } ?? (purchase != nil && hasAccess)
      if isOther { differences.append(.expiresAt) }
    }
    if let bought = row.claim.purchasedAt, let purchase {
      let facts = purchase.transactions.values
      let dates = facts.map(\.purchaseDate) + facts.compactMap(\.originalPurchaseDate)
      if !dates.contains(where: { Self.isSameSecond($0, bought) }) { differences.append(.purchasedAt) }
    }
    return differences
  }

  private static func isSameSecond(_ one: Int64, _ other: Int64) -> Bool { one / 1000 == other / 1000 }

  /// The row's line of a report, with its line end. Where the file's claim differs, it has both sides.
  public var line: [UInt8] {
    let (differences, claim) = (differences, row.claim)
    let differs = { differences.contains($0) }
    let bought = purchase.map { $0.deciding.originalPurchaseDate ?? $0.deciding.purchaseDate }
    return JSONWriter.object { json in
      json.member("line", Int64(row.line))
      json.member("customerId", row.customerId)
      json.member("transactionId", row.transactionId)
      json.member("vendorId", claim.vendorId)
      json.member("result", result.code.rawValue)
      json.member("accessGranted", result.accessGranted)
      json.member("offerId", result.offerId)
      json.time("expiresAt", expiresAt)
      json.time("purchasedAt", differs(.purchasedAt) ? bought : nil)
      json.member("originalTransactionId", result.originalTransactionId)
      json.member("environment", result.environment)
      json.member("owner", otherOwner)
      json.member("claimedOffer", differs(.offer) ? claim.offerId : nil)
      json.time("claimedExpiry", differs(.access) || differs(.expiresAt) ? claim.expiresAt : nil)
      json.time("claimedPurchase", differs(.purchasedAt) ? claim.purchasedAt : nil)
      json.member("differs", array: differences.map { Array("\"\($0.rawValue)\"".utf8) })
    } + [0x0a]
  }

  /// The line of a row that has no result in the ledger.
  public static func missing(_ row: ImportRow) -> [UInt8] {
    JSONWriter.object { json in
      json.member("line", Int64(row.line))
      json.member("customerId", row.customerId)
      json.member("transactionId", row.transactionId)
      json.member("vendorId", row.claim.vendorId)
      json.member("result", "missing")
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
  /// Rows without a result: the ledger has deleted it, because of its age, or the import ended before the row.
  public var forgotten = 0
  /// By the result's code.
  public private(set) var results: [String: Int] = [:]

  /// Creates an empty one.
  public init() {}

  /// Counts a row.
  public mutating func count(_ row: ImportedRow) {
    rows += 1
    if row.result.accessGranted { withAccess += 1 }
    if row.otherOwner != nil { conflicts += 1 }
    if !row.differences.isEmpty { different += 1 }
    results[row.result.code.rawValue, default: 0] += 1
  }

  /// Writes the counts.
  public func write(to json: inout JSONWriter) {
    json.member("rows", Int64(rows))
    json.member("withAccess", Int64(withAccess))
    json.member("conflicts", Int64(conflicts))
    json.member("different", Int64(different))
    json.member("earlier", Int64(earlier))
    json.member("forgotten", Int64(forgotten))
    let counts = results.sorted { $0.key < $1.key }.map { ($0.key, Array(String($0.value).utf8)) }
    json.member("results", json: JSONWriter.object(counts))
  }
}
