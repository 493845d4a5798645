import Formats

/// Reads what the control API is asked for.
extension LifeTerms {
  /// Reads the body that begins a life.
  ///
  /// - Parameter app: the app that it belongs to, unless the body says otherwise.
  init(_ body: inout ControlBody, apps: [Simulator.App], scale: LifeScale) throws(ControlRefusal) {
    let kind = try body.choice("kind", of: LifeKind.self) ?? .autoRenewable
    let bundleId = try body.text("bundleId").map(ExactText.init(_:)) ?? apps.first?.bundleId ?? "com.example.app"
    let known = apps.first { $0.bundleId == bundleId }?.appAppleId
    let appAppleId = try body.integer("appAppleId", 0...Int64.max) ?? known ?? 999
    let name = try body.text("product") ?? kind.usualProduct
    let product = name.contains(".") ? name : "\(bundleId).\(name)"
    self.init(
      kind: kind, environment: try body.choice("environment") ?? .production, bundleId: bundleId,
      appAppleId: appAppleId, productId: product,
      price: try body.integer("price", 0...1_000_000_000_000) ?? Self.usualPrice(of: product),
      period: try body.period(scale) ?? scale.months(Self.usualMonths(of: product)))
    appAccountToken = try body.text("appAccountToken")
    owner = try body.transactionId("owner")
    isFamilyShared = try body.flag("familyShared") ?? (owner != nil)
    offer = try body.offer(scale)
    grace = scale.days(try body.integer("graceDays", 0...60) ?? 0)
    autoRenews = try body.flag("autoRenews") ?? true
    failsAtEnd = try body.choice("atEnd", of: AtEnd.self) == .fail
    age = try body.seconds("ageSeconds", 0...86_400_000) ?? 0
    urls = try body.texts("notify")
    if let stranger = urls?.first(where: { !NotificationSettings.isURL($0) }) {
      throw .mistake("\(stranger) is not a URL")
    }
    isQuiet = try body.flag("quiet") ?? false
    guard kind != .autoRenewable || age / 1000 <= period else {
      throw .mistake("ageSeconds is more than a thousand periods")
    }
  }

  private enum AtEnd: String, CaseIterable { case renew, fail }
}

extension ControlBody {
  /// A length: `periodSeconds` as it passes, or `periodMonths` that shrink.
  mutating func period(_ scale: LifeScale) throws(ControlRefusal) -> Int64? {
    let months = try integer("periodMonths", 1...1200).map(scale.months)
    return try seconds("periodSeconds", 0.01...3_110_400_000) ?? months
  }

  /// An offer: `trial`, or Apple's members.
  mutating func offer(_ scale: LifeScale) throws(ControlRefusal) -> LifeOffer? {
    let isTrial = try flag("trial") ?? false
    let type = try integer("offerType", 1...4)
    let identifier = try text("offerIdentifier")
    let discount = try choice("offerDiscountType", of: Discount.self)
    let period = try text("offerPeriod")
    guard isTrial || type != nil else {
      guard identifier == nil, discount == nil, period == nil else { throw .mistake("an offer needs its offerType") }
      return nil
    }
    var offer = LifeOffer.trial
    if let type { offer.type = Int(type) }
    offer.identifier = identifier
    if let discount { offer.discountType = discount.rawValue }
    if let period { offer.period = period }
    guard scale.period(offer.period) != nil else { throw .mistake("offerPeriod is not a period such as P1W") }
    return offer
  }

  private enum Discount: String, CaseIterable {
    case freeTrial = "FREE_TRIAL"
    case payAsYouGo = "PAY_AS_YOU_GO"
    case payUpFront = "PAY_UP_FRONT"
    case oneTime = "ONE_TIME"
  }
}
