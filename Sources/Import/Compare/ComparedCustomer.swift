public import Domain
import Formats
import JSON

/// One customer as the export of another system has it, and as the ledger has it.
public struct ComparedCustomer: Sendable {
  public let customerId: CustomerId
  /// The rows of the file about the customer; empty for somebody whom only the ledger knows.
  public let rows: [Row]
  /// What the customer may use by the ledger.
  public let entitlements: [OfferEntitlement]

  /// A row of the file, and the purchase that it names.
  public struct Row: Sendable {
    public let row: ImportRow
    /// As the ledger has it, whoever owns it; `nil` if the ledger does not know the id.
    public let purchase: Purchase?

    /// Creates it.
    public init(_ row: ImportRow, _ purchase: Purchase?) { (self.row, self.purchase) = (row, purchase) }
  }

  /// Where a customer has access.
  public enum Verdict: String, Sendable, CaseIterable {
    /// Both say the same.
    case same
    /// Only the other system gives access.
    case onlyThere
    /// Only Countersign gives access.
    case onlyHere
  }

  /// Creates it.
  public init(_ customerId: CustomerId, _ rows: [Row], _ entitlements: [OfferEntitlement]) {
    (self.customerId, self.rows, self.entitlements) = (customerId, rows, entitlements)
  }

  /// What both systems say.
  ///
  /// - Parameter now: milliseconds since 1970.
  public func verdict(now: Int64) -> Verdict {
    let there = rows.contains { $0.row.claim.givesAccess(at: now) }
    let here = entitlements.contains(where: \.accessGranted)
    return there == here ? .same : there ? .onlyThere : .onlyHere
  }

  /// The customer's line of a report, with its line end.
  ///
  /// - Parameters:
  ///   - rules: those of the publisher for the customer.
  ///   - now: milliseconds since 1970.
  public func line(rules: AccessRules, now: Int64) -> [UInt8] {
    JSONWriter.object { json in
      json.member("customerId", customerId)
      json.member("verdict", verdict(now: now).rawValue)
      json.member("entitlements", array: entitlements.map(Self.text))
      json.member("rows", array: rows.map { text($0, rules, now) })
    } + [0x0a]
  }

  private static func text(_ entitlement: OfferEntitlement) -> [UInt8] {
    JSONWriter.object { json in
      json.member("accessGranted", entitlement.accessGranted)
      json.time("expiresAt", entitlement.expiresAt)
      json.member("offerId", entitlement.offerId)
      json.member("originalTransactionId", entitlement.purchase?.originalTransactionId)
      json.member("rule", entitlement.rule.rawValue)
    }
  }

  private func text(_ row: Row, _ rules: AccessRules, _ now: Int64) -> [UInt8] {
    JSONWriter.object { json in
      json.member("line", Int64(row.row.line))
      json.member("transactionId", row.row.transactionId)
      json.time("claimedExpiry", row.row.claim.expiresAt)
      json.member("vendorId", row.row.claim.vendorId)
      json.member("why", why(row, rules, now))
      json.member("originalTransactionId", row.purchase?.key.originalTransactionId)
      json.member("environment", row.purchase?.key.environment)
      json.member("decidingTransactionId", row.purchase?.deciding.transactionId)
      json.time("expiresDate", row.purchase?.deciding.expiresDate)
      json.time("revocationDate", row.purchase?.deciding.revocationDate)
      json.time("signedDate", row.purchase?.deciding.signedDate)
    }
  }

  /// Why the row's purchase gives access here, or none: the rule that decides, or what is before every rule.
  func why(_ row: Row, _ rules: AccessRules, _ now: Int64) -> String {
    guard let purchase = row.purchase else { return "unknownPurchase" }
    guard let owner = purchase.owner else { return "noOwner" }
    guard owner.is(customerId) else { return "otherOwner" }
    return Access.of(purchase, rules: rules, now: now).rule.rawValue
  }
}

extension ImportRow.Claim {
  /// Whether the other system gives access at a time. A row without an end gives it.
  func givesAccess(at now: Int64) -> Bool { expiresAt.map { $0 > now } ?? true }
}
