extension LifeAction {
  /// Reads an action by its name in the path.
  ///
  /// - Throws: 404 for a name that means nothing, 400 for a mistake in the body.
  init(_ name: String, _ body: inout ControlBody, scale: LifeScale) throws(ControlRefusal) {
    switch name {
    case "renew": self = .renew(period: try body.period(scale))
    case "fail": self = .fail(grace: try body.flag("grace"), isAtEnd: try body.isAtEnd())
    case "recover": self = .recover
    case "end-grace": self = .endGrace
    case "expire":
      self = .expire(try body.choice("reason", of: LifeExpiry.self) ?? .voluntary, isAtEnd: try body.isAtEnd())
    case "upgrade":
      var upgrade = LifeUpgrade(product: try body.text("product") ?? "yearly")
      upgrade.price = try body.integer("price", 0...1_000_000_000_000)
      upgrade.period = try body.period(scale)
      upgrade.originalTransactionId = try body.transactionId("originalTransactionId")
      upgrade.isSeparate = try body.flag("separate") ?? (upgrade.originalTransactionId != nil)
      self = .upgrade(upgrade)
    case "downgrade":
      self = .downgrade(product: try body.text("product") ?? "monthly", period: try body.period(scale))
    case "refund":
      self = .refund(
        transactionId: try body.transactionId("transactionId"),
        percentage: try body.integer("revocationPercentage", 1...100_000) ?? 100_000,
        reason: Int(try body.integer("revocationReason", 0...1) ?? 0))
    case "reverse": self = .reverse(transactionId: try body.transactionId("transactionId"))
    case "decline-refund": self = .declineRefund(transactionId: try body.transactionId("transactionId"))
    case "revoke": self = .revoke
    case "extend": self = .extend(days: try body.integer("days", 1...90) ?? 30)
    case "request-refund":
      self = .requestRefund(
        transactionId: try body.transactionId("transactionId"),
        reason: (try body.choice("reason", of: RefundReason.self) ?? .unintended).rawValue)
    case "disable-renewal": self = .setRenewal(false)
    case "enable-renewal": self = .setRenewal(true)
    case "price-increase":
      self = .increasePrice(
        try body.integer("price", 0...1_000_000_000_000), isAccepted: try body.flag("accepted") ?? false)
    case "redeem-offer": self = .redeem(try body.offer(scale) ?? .trial)
    default: throw ControlRefusal(status: 404, text: "\(name) is not an action")
    }
    try body.end()
  }

  private enum RefundReason: String, CaseIterable {
    case unintended = "UNINTENDED_PURCHASE"
    case fulfillment = "FULFILLMENT_ISSUE"
    case unsatisfied = "UNSATISFIED_WITH_PURCHASE"
    case legal = "LEGAL"
    case other = "OTHER"
  }
}

extension ControlBody {
  /// Whether something happens at the end of the period instead of now.
  fileprivate mutating func isAtEnd() throws(ControlRefusal) -> Bool {
    try choice("when", of: When.self) == .end
  }

  private enum When: String, CaseIterable { case now, end }
}
