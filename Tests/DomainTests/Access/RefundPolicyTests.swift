import Domain
import DomainSupport
import Testing

/// What a refund, and a family member's purchase, give by the offer's settings.
struct RefundPolicyTests {
  private typealias T = TestPurchases

  private func access(
    _ purchase: Purchase, _ refunds: RefundPolicy = .endAccess, familyShared: Bool = true, at days: Double = 10,
    accessDays: Int? = nil
  ) -> Access {
    let offer = Offer(
      id: "S1", productIds: ["monthly", "lifetime", "pass"], accessDays: accessDays, refunds: refunds,
      grantsFamilyShared: familyShared)
    return .of(
      purchase, rules: AccessRules(offers: OfferCatalog([offer]), allowsSandbox: false), now: T.at(days))
  }

  @Test(arguments: [(RefundPolicy.endAccess, false), (.keepUntilPeriodEnd, true), (.reportOnly, true)])
  func `a refunded period gives what the policy says, and never more than its end`(policy: RefundPolicy, isKept: Bool) {
    let refunded = T.purchase(T.transaction(expires: 30, revoked: 5))
    #expect(access(refunded, policy).isGranted == isKept)
    #expect(access(refunded, policy).rule == (isKept ? .keptAfterRefund : .revoked))
    #expect(!access(refunded, policy, at: 31).isGranted)
  }

  @Test func `Apple's status says nothing else about a refund that is kept`() {
    let refunded = T.purchase(
      T.transaction(expires: 30, revoked: 5, signed: 5), renewal: T.renewal(signed: 5),
      status: ReportedStatus(code: ReportedStatus.revoked, date: T.at(5)))
    #expect(access(refunded, .keepUntilPeriodEnd).isGranted)
    let reported = T.purchase(
      T.transaction(expires: 30), renewal: T.renewal(signed: 5),
      status: ReportedStatus(code: ReportedStatus.revoked, date: T.at(5)))
    #expect(access(reported, .reportOnly).rule == .reportedRevoked)
  }

  @Test func `a purchase without an end has no period to keep`() {
    let forever = T.purchase(T.transaction("1", .nonConsumable, "lifetime", revoked: 5))
    #expect(access(forever, .keepUntilPeriodEnd).rule == .revoked)
    #expect(access(forever, .reportOnly).isGranted)
    let pass = T.purchase(T.transaction("1", .nonRenewing, "pass", revoked: 5))
    #expect(access(pass, .keepUntilPeriodEnd).rule == .revoked)
    #expect(access(pass, .keepUntilPeriodEnd, accessDays: 20).isGranted)
    #expect(!access(pass, .keepUntilPeriodEnd, at: 20, accessDays: 20).isGranted)
  }

  @Test func `the end of family sharing always ends the member's access`() {
    let shared = T.purchase(T.transaction(expires: 30, revoked: 5, ownership: "FAMILY_SHARED"))
    for policy in RefundPolicy.allCases { #expect(access(shared, policy).rule == .revoked) }
  }

  @Test func `an offer may refuse what a family member shares`() {
    let shared = T.purchase(T.transaction(expires: 30, ownership: "FAMILY_SHARED"))
    #expect(access(shared).isGranted)
    #expect(access(shared, familyShared: false).rule == .familySharingRefused)
    #expect(access(T.purchase(T.transaction(expires: 30)), familyShared: false).isGranted)
  }

  @Test func `the settings are part of the rules' hash, and their defaults are not`() {
    func hash(_ offer: Offer) -> [UInt8] {
      Publisher(
        id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: OfferCatalog([offer]),
        webhooks: []
      ).rulesSHA256
    }
    let plain = hash(Offer(id: "S1", productIds: ["a"]))
    #expect(plain == hash(Offer(id: "S1", productIds: ["a"], refunds: .endAccess, grantsFamilyShared: true)))
    #expect(plain != hash(Offer(id: "S1", productIds: ["a"], refunds: .reportOnly)))
    #expect(plain != hash(Offer(id: "S1", productIds: ["a"], grantsFamilyShared: false)))
  }
}
