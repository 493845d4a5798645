import DomainSupport

@testable import Domain

/// Requests for refunds by value. Times are days of ``TestPurchases``; Apple asked on day 10.
enum TestRefunds {
  private typealias T = TestPurchases
  static let asked = TestPurchases.at(10)
  static let hour: Int64 = 3_600_000
  static let answer = ConsumptionAnswer(.delivered, preference: .decline, isSampleProvided: true)
  static let other = ConsumptionAnswer(.qualityIssue, isSampleProvided: false)
  static let consent = Consent(isGiven: true, textVersion: "2026-01", time: TestPurchases.at(1))
  static let refusal = Consent(isGiven: false, textVersion: "2026-01", time: TestPurchases.at(2))

  static func purchase(owner: CustomerId? = "me", revoked: Double? = nil) -> Purchase {
    T.purchase(T.transaction(expires: 30, revoked: revoked), owner: owner)
  }

  static func request(_ state: RefundRequest.State = .open, endedAfter hours: Int64? = nil) -> RefundRequest {
    let purchase = purchase()
    var request = RefundRequest(purchase.deciding, of: purchase, reason: "OTHER", requestedAt: asked)
    if state == .sending { request.send(answer, by: .policy, consent, now: asked) }
    if !state.isPending { request.end(as: state, at: asked + (hours ?? 1) * hour) }
    return request
  }

  static func question(after hours: Int64, reason: String? = "LEGAL") -> RefundNotice {
    RefundNotice(.asked(reason: reason), transactionId: "1", signedDate: asked + hours * hour)
  }

  static func decision(after hours: Int64) -> RefundNotice {
    RefundNotice(.decided, transactionId: "1", signedDate: asked + hours * hour)
  }
}
