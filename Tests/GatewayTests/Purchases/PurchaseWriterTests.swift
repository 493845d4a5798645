import Domain
import DomainSupport
import Formats
import HTTPServer
import Ledger
import Testing

@testable import Gateway

/// The bytes of answers about purchases, and what requests for them may say.
struct PurchaseWriterTests {
  private typealias Given = AnsweredPurchases

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
  private let writer = PurchaseWriter(Given.publisher(), now: Given.now)

  @Test func `a purchase with its transactions and owners`() {
    let first = Given.transaction("100", bought: Given.now - 40 * Given.day, expires: Given.now - 10 * Given.day)
    let purchase = Given.purchase(first, Given.transaction("101"), renewal: Given.renewal())
    let record = PurchaseRecord(
      purchase, firstGrants: ["100": Given.now - 40 * Given.day],
      ownerships: [
        OwnershipPeriod(
          subscriptionId: 1700, customerId: nil, beganAt: Given.now - 40 * Given.day,
          endedAt: Given.now - 9 * Given.day, cause: "registration"),
        OwnershipPeriod(
          subscriptionId: 1801, customerId: "42", beganAt: Given.now - 9 * Given.day, endedAt: nil, cause: "transfer"),
      ])
    #expect(
      text(writer.one(record)) == """
        {"access":{"accessGranted":true,"billingProblem":false,"expiresAt":"2026-12-12T10:00:00.000Z","offerId":"S1",\
        "rule":"subscriptionActive","willRenew":true},"bundleId":"com.example","cleengCustomerId":42,\
        "customerId":"42","environment":"Production","expiresDate":"2026-12-12T10:00:00.000Z",\
        "isInBillingRetry":false,"isUpgraded":false,"nextProductId":"monthly","offerId":"S1",\
        "originalTransactionId":"100","ownershipType":"PURCHASED","ownerships":[\
        {"beganAt":"2026-10-13T10:00:00.000Z","cause":"registration","endedAt":"2026-11-13T10:00:00.000Z",\
        "subscriptionId":1700},\
        {"beganAt":"2026-11-13T10:00:00.000Z","cause":"transfer","cleengCustomerId":42,"customerId":"42",\
        "subscriptionId":1801}],"productId":"monthly","purchaseDate":"2026-11-12T10:00:00.000Z",\
        "signedDate":"2026-11-12T10:00:01.000Z","subscriptionId":1801,"transactionId":"101","transactions":[\
        {"bundleId":"com.example","expiresDate":"2026-12-12T10:00:00.000Z","isUpgraded":false,\
        "ownershipType":"PURCHASED","productId":"monthly","purchaseDate":"2026-11-12T10:00:00.000Z",\
        "signedDate":"2026-11-12T10:00:01.000Z","transactionId":"101","type":"Auto-Renewable Subscription"},\
        {"bundleId":"com.example","expiresDate":"2026-11-12T10:00:00.000Z",\
        "firstGrantedAt":"2026-10-13T10:00:00.000Z","isUpgraded":false,"ownershipType":"PURCHASED",\
        "productId":"monthly","purchaseDate":"2026-10-13T10:00:00.000Z","signedDate":"2026-10-13T10:00:01.000Z",\
        "transactionId":"100","type":"Auto-Renewable Subscription"}],"type":"Auto-Renewable Subscription",\
        "version":3,"willRenew":true}
        """)
  }

  @Test func `a purchase without an owner gives nobody access`() {
    let text = text(writer.one(PurchaseRecord(Given.purchase(Given.transaction(), owner: nil))))
    for absent in [#""access""#, "customerId", "CustomerId", "subscriptionId"] { #expect(!text.contains(absent)) }
    #expect(text.contains(#""ownerships":[]"#))
  }

  @Test func `a list names the next page`() {
    let found = CustomerPurchases(isKnown: true, version: 5, purchases: [Given.purchase(Given.transaction())])
    let start = #"{"asOf":"2026-11-22T10:00:00.000Z","customerId":"user-7","customerVersion":5,"#
    let page = text(writer.list(of: "user-7", found, next: "Production-100"))
    #expect(page.hasPrefix(start + #""nextCursor":"Production-100","purchases":[{"access":{"#))
    #expect(!page.contains("transactions") && !page.contains("ownerships"))
    #expect(
      text(writer.list(of: "user-7", CustomerPurchases(isKnown: true, version: 5), next: nil))
        == start + #""purchases":[]}"#)
  }

  @Test func `a list of long purchases ends earlier, and names the next page`() {
    let purchases = ["100", "200", "300"].map { Given.purchase(Given.transaction(of: OriginalTransactionId($0))) }
    let found = CustomerPurchases(isKnown: true, version: 5, purchases: purchases)
    let page = text(writer.list(of: "user-7", found, next: "Production-900", most: 10))
    #expect(page.contains(#""nextCursor":"Production-100","purchases":[{"#))
    #expect(page.contains(#""originalTransactionId":"100""#) && !page.contains(#""originalTransactionId":"200""#))
    #expect(text(writer.list(of: "user-7", found, next: "Production-900")).contains(#""nextCursor":"Production-900""#))
  }

  @Test func cursors() {
    let place = PurchaseReader.Place(environment: "Sandbox", originalTransactionId: "2000000000000001")
    #expect(PurchaseReader.Place(cursor: place.cursor) == place)
    for wrong in ["", "-", "Sandbox", "Sandbox-", "-1", "Sandbox-x", "Sand box-1", "Sandbox-1-2", "\u{0}-1"] {
      #expect(PurchaseReader.Place(cursor: wrong) == nil)
    }
  }
}
