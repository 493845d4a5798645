import Domain

/// What would change if a worker applied what Apple says about a purchase now.
///
/// It merges as the ledger does, and compares what a person can see. Apple signs the same facts anew whenever somebody
/// asks: that alone is no difference.
struct PurchaseDifference {
  /// One thing that would change.
  struct Row: Equatable {
    let name: String
    let now: Value
    let after: Value
  }

  /// What a thing is.
  enum Value: Equatable {
    case nothing
    case text(String)
    case id(String)
    /// Milliseconds since 1970.
    case time(Int64)
    case access(Standing)
  }

  /// The access that the purchase gives, whoever owns it.
  struct Standing: Equatable {
    let isGranted: Bool
    /// When it ends, or has ended, in milliseconds since 1970; `nil` if there is no end or it is not known.
    let until: Int64?
    let rule: AccessRule
    /// The offer's name; `nil` if no offer has the product.
    let offer: String?

    fileprivate init(_ purchase: Purchase, _ rules: AccessRules, now: Int64) {
      let access = Access.of(purchase, rules: rules, now: now)
      (isGranted, until, rule) = (access.isGranted, access.expiresAt, access.rule)
      offer = access.offerId.map { rules.offers.name(of: $0) }
    }
  }

  let access: (now: Standing, after: Standing)
  /// The access first. Empty if Apple says the same.
  let rows: [Row]

  /// Compares a purchase of the ledger with itself after Apple's evidence.
  ///
  /// - Parameters:
  ///   - rules: those of the owner.
  ///   - now: milliseconds since 1970.
  init(_ purchase: Purchase, _ evidence: [Evidence], rules: AccessRules, now: Int64) {
    let after = Self.merged(purchase, evidence)
    access = (Standing(purchase, rules, now: now), Standing(after, rules, now: now))
    let before = Self.values(purchase)
    let shown = zip(before, Self.values(after)).map { Row(name: $0.name, now: $0.value, after: $1.value) }
    let standing = Row(name: "Access", now: .access(access.now), after: .access(access.after))
    var rows = ([standing] + shown).filter { $0.now != $0.after }
    let others = Self.details(purchase, after)
    if others > 0 {
      let words = "Apple describes \(others) known transaction\(others == 1 ? "" : "s") differently"
      rows.append(Row(name: "Other details", now: .nothing, after: .text(words)))
    }
    self.rows = rows
  }

  /// The purchase as a look of a worker leaves it.
  static func merged(_ purchase: Purchase, _ evidence: [Evidence]) -> Purchase {
    var after = purchase
    var isNews = false
    for piece in evidence where after.merge(piece) { isNews = true }
    // Apple has answered: the access while it was away ends, and that of the evidence begins.
    if isNews { after.provisionalUntil = nil }
    return after
  }

  /// What a person can see of a purchase, always in the same order.
  private static func values(_ purchase: Purchase) -> [(name: String, value: Value)] {
    let (deciding, renewal) = (purchase.deciding, purchase.presentRenewal)
    return [
      ("Product", .id(deciding.productId.text)), ("Deciding transaction", .id(deciding.transactionId.text)),
      ("Bought", .time(deciding.purchaseDate)), ("Ends", time(deciding.expiresDate)),
      ("Refunded", time(deciding.revocationDate)), ("Upgraded", flag(deciding.isUpgraded)),
      ("Price", text(PurchasePage.price(deciding.price, deciding.currency))),
      ("Apple's status", text(purchase.status.map { words(ofStatus: $0.code) })),
      ("Renews", flag(renewal?.willRenew)), ("Next product", renewal?.nextProductId.map { .id($0.text) } ?? .nothing),
      ("Apple tries to charge", flag(renewal?.isInBillingRetry)), ("Grace period", time(renewal?.graceExpiresDate)),
      ("Reason of the end", text(renewal?.expirationIntent.map { "Apple's number \($0)" })),
      ("Price increase", text(renewal?.priceIncreaseStatus.map { "Apple's number \($0)" })),
      ("Transactions", .text("\(purchase.transactions.count)")),
    ]
  }

  private static func time(_ time: Int64?) -> Value { time.map { .time($0) } ?? .nothing }
  private static func flag(_ flag: Bool?) -> Value { flag.map { .text($0 ? "yes" : "no") } ?? .nothing }
  private static func text(_ text: String?) -> Value {
    guard let text, !text.isEmpty else { return .nothing }
    return .text(text)
  }

  private static func words(ofStatus code: Int32) -> String {
    switch code {
    case 1: "active"
    case 2: "expired"
    case 3: "billing retry"
    case 4: "grace period"
    case ReportedStatus.revoked: "revoked"
    default: "Apple's number \(code)"
    }
  }

  /// How many transactions that are known already Apple describes differently in what the other rows do not show.
  private static func details(_ before: Purchase, _ after: Purchase) -> Int {
    let isSameDeciding = before.deciding.transactionId == after.deciding.transactionId
    return before.transactions.values.count { known in
      guard let present = after.transactions[known.transactionId] else { return false }
      let isShown = isSameDeciding && known.transactionId == before.deciding.transactionId
      return content(of: known, isShown: isShown) != content(of: present, isShown: isShown)
    }
  }

  /// A transaction without its signature, and without what the other rows show of it.
  private static func content(of facts: TransactionFacts, isShown: Bool) -> TransactionFacts {
    var content = facts
    (content.signedDate, content.payloadSHA256) = (0, [])
    guard isShown else { return content }
    (content.productId, content.purchaseDate, content.expiresDate) = ("", 0, nil)
    (content.revocationDate, content.isUpgraded) = (nil, false)
    (content.price, content.currency) = (nil, nil)
    return content
  }
}
