import DomainSupport
import Formats
import JSON
import Testing

@testable import Domain
@testable import Doors

/// An event has at most 64 KiB, and none is lost for that.
struct EventSizeTests {
  private func payment(_ offer: String, coupon: String? = nil) -> CleengRefusedPayment {
    CleengRefusedPayment(
      publisherId: 7, customerId: "42", offerId: OfferId(offer), transactionId: "1", couponCode: coupon,
      receiptSHA256: [1], time: 0, traceparent: "trace")
  }

  @Test func `an event that would be too long says so, and keeps its id`() {
    let long = String(repeating: "S", count: 70_000)
    let event = payment(long).event(.offerNotFound)
    let whole = payment("").event(.offerNotFound).body.count + long.utf8.count
    #expect(event.isReduced)
    #expect(event.id == Event.id(7, "inappPurchaseValidationFailed", ["01", "1", "42", long, "0"]))
    #expect(event.customerId == "42" && event.traceparent == "trace" && event.topic == "inappPurchaseValidationFailed")
    #expect(
      String(decoding: event.body, as: UTF8.self) == """
        {"broadcasterId":7,"data":{"cleengCustomerId":42,"customerId":"42","omittedBytes":\(whole)},\
        "topic":"inappPurchaseValidationFailed"}
        """)
  }

  @Test func `the limit itself is not too long`() {
    let empty = payment("").event(.offerNotFound).body.count
    let longest = String(repeating: "S", count: Event.mostBodyBytes - empty)
    let event = payment(longest).event(.offerNotFound)
    #expect(!event.isReduced && event.body.count == Event.mostBodyBytes)
    #expect(payment(longest + "S").event(.offerNotFound).isReduced)
  }

  /// What a request may say: the longest texts, of characters that JSON escapes.
  @Test func `a payment at the limits of its request fits`() {
    for character in ["\u{1}", "😀"] {
      let name = String(repeating: character, count: 256)
      #expect(!payment(name, coupon: name).event(.offerNotFound).isReduced)
    }
  }

  /// Mbaasy's events have the metadata three times.
  @Test func `an upload at the limits of its request fits`() throws {
    var before = TestPurchases.purchase(TestPurchases.transaction(expires: 30), owner: "anna")
    var after = before
    let name = String(repeating: "😀", count: 256)
    func attributes(_ letter: String) -> PurchaseAttributes {
      PurchaseAttributes(
        couponCode: name, countryCode: "DE", identifierForVendor: name, ipAddress: "192.0.2.1",
        metadata: Array("{\"a\":\"\(String(repeating: letter, count: (16 << 10) - 8))\"}".utf8))
    }
    (before.attributes, after.attributes) = (attributes("x"), attributes("y"))
    let change = PurchaseChange(before: before, after: after, now: TestPurchases.at(9))
    let event = try #require(
      MbaasyEvents.of(change, MbaasyDoor(policy: DoorPolicy(), clientTokens: []), MbaasyPurchaseTests.publisher).first)
    #expect(!event.isReduced && event.body.count > 48 << 10)
  }

  /// A customer of an app with many products.
  @Test func `a customer's purchases are told as far as they fit`() throws {
    func bought(_ number: Int, expires: Double) -> Purchase {
      let transaction = TestPurchases.transaction(
        "\(number)", of: "\(number)", .autoRenewable, "com.example.product.\(number)", bought: 1, expires: expires)
      return TestPurchases.purchase(transaction, owner: "anna")
    }
    // The one that the event is about is over, and so are half of the others.
    let after = bought(0, expires: 2)
    let holdings = [after] + (1...400).map { bought($0, expires: $0 % 2 == 0 ? 30 : 3) }
    let publisher = Publisher(
      id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: TestCommit.offers, webhooks: [])
    let change = PurchaseChange(before: nil, after: after, holdings: holdings, now: TestPurchases.at(10))
    let event = try #require(IapticEvents.of(change, IapticDoor(appName: "a", apiKeyHashes: []), publisher).first)
    #expect(!event.isReduced && event.body.count <= Event.mostBodyBytes)
    struct Envelope: Decodable { let data: Told }
    struct Told: Decodable {
      let purchases: [String: Shown]
      let omittedPurchases: Int
    }
    struct Shown: Decodable { let isExpired: Bool }
    let told = try JSONText(event.body, limits: .own).decoded(as: Envelope.self).data
    #expect(told.purchases["apple:com.example.product.0"] != nil)
    #expect(told.purchases.count + told.omittedPurchases == 401 && told.purchases.count > 50)
    // All others that are told still run.
    #expect(told.purchases.values.filter(\.isExpired).count == 1)
  }
}
