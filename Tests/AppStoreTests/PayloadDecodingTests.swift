import Domain
import Formats
import FoundationEssentials
import JSON
import Testing

@testable import AppStore

/// The allowed forms of payload fields.
struct PayloadDecodingTests {
  private func transaction(_ json: String) throws -> TransactionPayload {
    try TransactionPayload(JSONText(Array(json.utf8)))
  }

  @Test func fractionalDatesAreCut() throws {
    #expect(try transaction(#"{"purchaseDate":1697679936049.7297}"#).purchaseDate == 1_697_679_936_049)
    #expect(try transaction(#"{"purchaseDate":-1.5}"#).purchaseDate == -1)
    #expect(try transaction(#"{"purchaseDate":1e3}"#).purchaseDate == 1000)
    #expect(try transaction(#"{"purchaseDate":null}"#).purchaseDate == nil)
  }

  @Test(arguments: [
    #"{"price":1.5}"#, #"{"price":"1"}"#, #"{"purchaseDate":"1"}"#, #"{"purchaseDate":1e300}"#, #"{"quantity":"two"}"#,
    #"{"isUpgraded":1}"#, #"{"type":1}"#, "[]", "null",
  ])
  func wrongTypes(json: String) {
    #expect(throws: DecodingError.self) { try transaction(json) }
  }

  @Test func unknownValuesAreKept() throws {
    let payload = try transaction(
      #"{"type":"Rental","offerType":9,"environment":"Moon","price":9007199254740993,"new":{"a":[1]}}"#)
    #expect(payload.type?.rawValue == "Rental")
    #expect(payload.offerType?.rawValue == 9)
    #expect(payload.environment?.isSignedByApple == true)
    #expect(payload.price == 9_007_199_254_740_993)
  }

  /// The decoder reads fields by name. The compiler does not compare these names with the names of the properties.
  @Test func everyFieldIsRead() throws {
    var payload = TransactionPayload()
    payload.transactionId = "1"
    payload.originalTransactionId = "2"
    payload.webOrderLineItemId = "3"
    payload.bundleId = "4"
    payload.productId = "5"
    payload.subscriptionGroupIdentifier = "6"
    payload.purchaseDate = 7
    payload.originalPurchaseDate = 8
    payload.expiresDate = 9
    payload.signedDate = 10
    payload.revocationDate = 11
    payload.quantity = 12
    payload.type = ProductType(rawValue: "13")
    payload.appAccountToken = "14"
    payload.inAppOwnershipType = OwnershipType(rawValue: "15")
    payload.revocationReason = RevocationReason(rawValue: 16)
    payload.revocationType = RevocationType(rawValue: "17")
    payload.revocationPercentage = 18
    payload.isUpgraded = true
    payload.offerType = OfferType(rawValue: 20)
    payload.offerIdentifier = "21"
    payload.offerDiscountType = OfferDiscountType(rawValue: "22")
    payload.offerPeriod = "23"
    payload.environment = Environment("24")
    payload.storefront = "25"
    payload.storefrontId = "26"
    payload.transactionReason = TransactionReason(rawValue: "27")
    payload.price = 28
    payload.currency = "29"
    payload.appTransactionId = "30"
    payload.billingPlanType = BillingPlanType(rawValue: "31")
    payload.commitmentInfo = try JSONText(Array(#"{"commitmentExpiresDate":32}"#.utf8)).decoded()
    payload.advancedCommerceInfo = .object(["a": .array([.integer(33)])])
    payload.previousOriginalTransactionId = "34"
    payload.deviceVerification = "35"
    payload.deviceVerificationNonce = "36"
    for (field, value) in Mirror(reflecting: payload).children {
      let isSet = "\(value)" != "nil"
      #expect(isSet, "\(field ?? "")")
    }
    let json = Array(try JSONEncoder().encode(payload))
    #expect(try TransactionPayload(JSONText(json)) == payload)

    guard case .object(let fields) = try JSONText(json).decoded(as: JSONValue.self) else {
      Issue.record("the payload is not an object")
      return
    }
    #expect(fields.count == Mirror(reflecting: payload).children.count)
    for field in fields.keys.map(\.text) {
      #expect(try transaction(#"{"\#(field)":null}"#) == TransactionPayload())
      // This field passes on any value unchanged.
      guard field != "advancedCommerceInfo" else { continue }
      // The rule for dates; the test applies it to every date field that is added later.
      if field.hasSuffix("Date") {
        #expect(try transaction(#"{"\#(field)":7.5}"#) == transaction(#"{"\#(field)":7}"#))
      } else {
        #expect(throws: DecodingError.self) { try transaction(#"{"\#(field)":7.5}"#) }
      }
      let error = #expect(throws: DecodingError.self) { try transaction(#"{"\#(field)":[]}"#) }
      guard case .typeMismatch(_, let context) = error else {
        Issue.record("\(field): \(String(describing: error))")
        continue
      }
      #expect(context.codingPath.map(\.stringValue) == [field])
    }
  }

  /// The rule for optional texts; the test applies it to every text that is added later.
  @Test func emptyTextsAreAbsent() throws {
    func texts<Payload: Decodable & Equatable>(_ type: Payload.Type) throws -> Int {
      let empty: Payload = try JSONText(Array("{}".utf8)).decoded()
      return Mirror(reflecting: empty).children.compactMap(\.label).filter { field in
        let decoded: Payload? = try? JSONText(Array(#"{"\#(field)":""}"#.utf8)).decoded()
        // This field passes on any value unchanged.
        guard let decoded, field != "advancedCommerceInfo" else { return false }
        #expect(decoded == empty, "\(Payload.self).\(field)")
        return true
      }.count
    }
    #expect(try texts(NotificationPayload.self) == 4 && texts(NotificationData.self) == 6)
    #expect(try texts(NotificationSummary.self) == 4 && texts(NotificationAppData.self) == 3)
    #expect(try texts(ExternalPurchaseToken.self) == 3 && texts(AppTransactionPayload.self) == 8)
    #expect(try texts(RenewalCommitmentInfo.self) == 2 && texts(RenewalInfoPayload.self) == 13)
    #expect(try texts(SubscriptionStatusesResponse.LastTransaction.self) == 3)
    let fields = Mirror(reflecting: TransactionPayload()).children.compactMap(\.label).filter { field in
      guard let decoded = try? transaction(#"{"\#(field)":""}"#), field != "advancedCommerceInfo" else { return false }
      #expect(decoded == TransactionPayload(), "\(field)")
      return true
    }
    #expect(fields.count == 23)
  }

  @Test func anyJSON() throws {
    let json = #"{"a":[1,2.5,"x",true,null],"b":{}}"#
    let value = try JSONDecoder().decode(JSONValue.self, from: Data(json.utf8))
    #expect(
      value
        == .object(["a": .array([.integer(1), .number(2.5), .string("x"), .bool(true), .null]), "b": .object([:])]))
    #expect(
      try JSONDecoder().decode(JSONValue.self, from: try JSONEncoder().encode(value)) == value)
  }
}
