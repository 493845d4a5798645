public import Domain
import Formats
import JSON

/// One customer as another system has it, and as the ledger has it.
public struct ComparedCustomer: Sendable {
  public let customerId: CustomerId
  /// The rows of the file about the customer; empty for somebody whom only the ledger knows.
  public let rows: [Row]
  /// What the customer may use by the ledger.
  public let entitlements: [OfferEntitlement]
  /// The purchases that the customer owns by the ledger.
  public let purchases: [Purchase]

  /// A row of the file, and the purchase that it names.
  public struct Row: Sendable {
    public let row: ImportRow
    /// As the ledger has it, whoever owns it; `nil` if the ledger does not know the id.
    public let purchase: Purchase?

    /// Creates it.
    public init(_ row: ImportRow, _ purchase: Purchase?) { (self.row, self.purchase) = (row, purchase) }
  }

  /// Which system gives more.
  public enum Verdict: String, Sendable, CaseIterable {
    /// Both give access to the same offers.
    case same
    /// Only the other system gives access to something.
    case onlyThere
    /// Only Countersign gives access to something.
    case onlyHere
    /// Each gives access to something that the other one does not.
    case different

    /// Judges what a customer may have access to.
    public init(_ accesses: [ComparedAccess]) {
      let differing = accesses.filter(\.differs)
      switch (differing.contains(where: \.there), differing.contains(where: \.here)) {
      case (false, false): self = .same
      case (true, false): self = .onlyThere
      case (false, true): self = .onlyHere
      case (true, true): self = .different
      }
    }
  }

  /// Creates it.
  public init(
    _ customerId: CustomerId, _ rows: [Row], _ entitlements: [OfferEntitlement], purchases: [Purchase] = []
  ) {
    (self.customerId, self.rows, self.entitlements) = (customerId, rows, entitlements)
    self.purchases = purchases
  }

  /// What both systems say.
  ///
  /// - Parameters:
  ///   - offers: the publisher's.
  ///   - now: milliseconds since 1970.
  public func verdict(offers: OfferCatalog, now: Int64) -> Verdict { Verdict(accesses(offers: offers, now: now)) }

  /// The customer's line of a report, with its line end.
  ///
  /// - Parameters:
  ///   - rules: those of the publisher for the customer.
  ///   - now: milliseconds since 1970.
  public func line(rules: AccessRules, now: Int64) -> [UInt8] {
    let accesses = accesses(offers: rules.offers, now: now)
    return JSONWriter.object { json in
      json.member("customerId", customerId)
      json.member("verdict", Verdict(accesses).rawValue)
      json.member("differences", array: accesses.filter(\.differs).map(\.json))
      json.member("entitlements", array: entitlements.map(text))
      json.member("rows", array: rows.map { text($0, rules, now) })
    } + [0x0a]
  }

  private func text(_ entitlement: OfferEntitlement) -> [UInt8] {
    JSONWriter.object { json in
      json.member("accessGranted", entitlement.accessGranted)
      json.time("expiresAt", entitlement.expiresAt)
      json.member("offerId", entitlement.offerId)
      json.member("originalTransactionId", entitlement.purchase?.originalTransactionId)
      json.member("rule", entitlement.rule.rawValue)
      json.member("grantId", entitlement.grant)
      if let purchase = purchases.first(where: { $0.key == entitlement.purchase }) { json.evidence(of: purchase) }
    }
  }

  private func text(_ row: Row, _ rules: AccessRules, _ now: Int64) -> [UInt8] {
    JSONWriter.object { json in
      json.member("line", Int64(row.row.line))
      json.member("transactionId", row.row.transactionId)
      json.time("claimedExpiry", row.row.claim.expiresAt)
      json.member("claimedOffer", row.row.claim.offerId)
      json.member("vendorId", row.row.claim.vendorId)
      json.member("why", why(row, rules, now))
      json.member("originalTransactionId", row.purchase?.key.originalTransactionId)
      if let purchase = row.purchase { json.evidence(of: purchase) }
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
