import Formats
import Testing

@testable import Simulator

/// The bodies of control calls.
struct ControlBodyTests {
  private let apps = [
    Simulator.App(bundleId: "com.example.one", appAppleId: 11, issuerId: "i", keyId: "K"),
    Simulator.App(bundleId: "com.example.two", appAppleId: 22, issuerId: "i", keyId: "K"),
  ]

  private func terms(_ text: String) throws(ControlRefusal) -> LifeTerms {
    var body = try ControlBody(Array(text.utf8))
    let terms = try LifeTerms(&body, apps: apps, scale: GivenLife.scale)
    try body.end()
    return terms
  }

  private func action(_ name: String, _ text: String = "") throws(ControlRefusal) -> LifeAction {
    var body = try ControlBody(Array(text.utf8))
    return try LifeAction(name, &body, scale: GivenLife.scale)
  }

  @Test func everythingHasADefault() throws {
    let usual = try terms("")
    #expect(
      usual
        == LifeTerms(
          bundleId: "com.example.one", appAppleId: 11, productId: "com.example.one.monthly", price: 9_990,
          period: 60_000))
    #expect(try terms(#"{"product": "yearly"}"#).period == 720_000)
    #expect(try terms(#"{"kind": "consumable"}"#).productId == "com.example.one.coins")
    #expect(try terms(#"{"bundleId": "com.example.two"}"#).appAppleId == 22)
    #expect(try terms(#"{"bundleId": "com.other"}"#).appAppleId == 999)
    #expect(try terms(#"{"owner": "7"}"#).isFamilyShared)
    #expect(try terms(#"{"trial": true}"#).offer == .trial)
  }

  @Test func everythingCanBeSaid() throws {
    let all = try terms(
      """
      {"kind": "autoRenewable", "bundleId": "com.example.two", "appAppleId": 5, "product": "com.p", "price": 1,
       "environment": "sandbox", "periodSeconds": 2.5, "graceDays": 16, "autoRenews": false, "atEnd": "fail",
       "ageSeconds": 1, "appAccountToken": "t", "familyShared": true, "owner": "7", "notify": ["http://a"],
       "quiet": true, "offerType": 2, "offerIdentifier": "o", "offerDiscountType": "PAY_UP_FRONT",
       "offerPeriod": "P3M"}
      """)
    #expect(all.environment == .sandbox && all.appAppleId == 5 && all.productId == "com.p" && all.price == 1)
    #expect(all.period == 2500 && all.grace == 32_000 && !all.autoRenews && all.failsAtEnd && all.age == 1000)
    #expect(all.appAccountToken == "t" && all.owner == "7" && all.urls == ["http://a"] && all.isQuiet)
    #expect(
      all.offer == LifeOffer(type: 2, identifier: "o", discountType: "PAY_UP_FRONT", period: "P3M"))
  }

  @Test(arguments: [
    "[]", "{", #"{"prodcut": "x"}"#, #"{"product": 1}"#, #"{"kind": "pass"}"#, #"{"environment": "Sandbox"}"#,
    #"{"price": -1}"#, #"{"price": 1.5}"#, #"{"periodSeconds": 0}"#, #"{"periodMonths": "1"}"#, #"{"graceDays": 61}"#,
    #"{"autoRenews": 1}"#, #"{"atEnd": "stop"}"#, #"{"notify": "http://a"}"#, #"{"notify": [1]}"#,
    #"{"notify": ["a"]}"#,
    #"{"owner": "abc"}"#, #"{"offerPeriod": "P1W"}"#, #"{"offerType": 5}"#, #"{"trial": true, "offerPeriod": "1W"}"#,
    #"{"ageSeconds": 70, "periodSeconds": 0.05}"#,
  ])
  func mistakesAreRefused(text: String) {
    #expect { try terms(text) } throws: { ($0 as? ControlRefusal)?.status == 400 }
  }

  @Test func actions() throws {
    #expect(try action("renew", #"{"periodMonths": 2}"#) == .renew(period: 120_000))
    #expect(try action("fail") == .fail(grace: nil, isAtEnd: false))
    #expect(try action("fail", #"{"grace": true, "when": "end"}"#) == .fail(grace: true, isAtEnd: true))
    #expect(try action("recover") == .recover)
    #expect(try action("end-grace") == .endGrace)
    #expect(try action("expire") == .expire(.voluntary, isAtEnd: false))
    #expect(
      try action("expire", #"{"reason": "billingRetry", "when": "now"}"#) == .expire(.billingRetry, isAtEnd: false))
    #expect(try action("upgrade") == .upgrade(LifeUpgrade(product: "yearly")))
    #expect(
      try action("upgrade", #"{"product": "p", "originalTransactionId": "7", "price": 3}"#)
        == .upgrade(LifeUpgrade(product: "p", price: 3, isSeparate: true, originalTransactionId: "7")))
    #expect(try action("downgrade") == .downgrade(product: "monthly", period: nil))
    #expect(try action("refund") == .refund(transactionId: nil, percentage: 100_000, reason: 0))
    #expect(
      try action("refund", #"{"transactionId": "7", "revocationPercentage": 50000, "revocationReason": 1}"#)
        == .refund(transactionId: "7", percentage: 50_000, reason: 1))
    #expect(try action("reverse") == .reverse(transactionId: nil))
    #expect(try action("decline-refund") == .declineRefund(transactionId: nil))
    #expect(try action("revoke") == .revoke)
    #expect(try action("extend", #"{"days": 3}"#) == .extend(days: 3))
    #expect(
      try action("request-refund", #"{"reason": "OTHER"}"#) == .requestRefund(transactionId: nil, reason: "OTHER"))
    #expect(try action("disable-renewal") == .setRenewal(false) && action("enable-renewal") == .setRenewal(true))
    #expect(try action("price-increase", #"{"price": 5, "accepted": true}"#) == .increasePrice(5, isAccepted: true))
    #expect(try action("redeem-offer") == .redeem(.trial))
    #expect { try action("explode") } throws: { ($0 as? ControlRefusal)?.status == 404 }
    for (name, text) in [
      ("renew", #"{"x": 1}"#), ("refund", #"{"revocationPercentage": 0}"#), ("extend", #"{"days": 91}"#),
    ] {
      #expect { try action(name, text) } throws: { ($0 as? ControlRefusal)?.status == 400 }
    }
  }

  @Test func theAgendaIsInOrder() {
    var agenda = Agenda<Int>()
    let times: [Int64] = [5, 3, 8, 1, 9, 2, 7, 3]
    for (item, time) in times.enumerated() { agenda.add(item, at: time) }
    #expect(agenda.next == 1 && agenda.count == 8)
    var taken: [Int64] = []
    while let entry = agenda.take(at: 7) {
      #expect(times[entry.item] == entry.time)
      taken.append(entry.time)
    }
    #expect(taken == [1, 2, 3, 3, 5, 7] && agenda.next == 8)
    agenda.removeAll()
    #expect(agenda.take(at: 100) == nil)
  }
}
