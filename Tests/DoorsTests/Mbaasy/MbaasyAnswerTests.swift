import AppStore
import Domain
import DomainSupport
import HTTPServer
import JSON
import TestSupport
import Testing

@testable import Doors
@testable import Gateway

/// What Mbaasy's door answers, by what became of a receipt.
struct MbaasyAnswerTests {
  // MARK: The verdict

  private func verdict(_ parts: MbaasyVerdict.Part...) -> Result<MbaasyVerdict, MbaasyError> {
    Result { () throws(MbaasyError) in try MbaasyVerdict(parts) }
  }

  private func status(_ result: Result<MbaasyVerdict, MbaasyError>) -> Int? {
    if case .failure(let error) = result { error.status } else { nil }
  }

  @Test func `a receipt is validated when Apple has answered`() throws {
    #expect(try verdict().get() == .validated)
    #expect(try verdict(.validated, .validated).get() == .validated)
    // One purchase that Apple does not know does not spoil the others.
    #expect(try verdict(.notValidated, .validated, .ofAnotherApp).get() == .validated)
  }

  @Test func `a receipt is enqueued while Apple has not answered about all of it`() throws {
    #expect(try verdict(.enqueued).get() == .enqueued)
    #expect(try verdict(.validated, .enqueued, .notValidated, .ofAnotherApp, .withoutCustomer).get() == .enqueued)
  }

  @Test func `every job must be accepted`() {
    #expect(status(verdict(.validated, .notAccepted("no broker"), .enqueued)) == 503)
    #expect(status(verdict(.enqueued, .notAccepted("no broker"))) == 503)
  }

  @Test func `if nothing can be validated, the answer says why`() {
    #expect(status(verdict(.notValidated)) == 503)
    #expect(status(verdict(.notValidated, .ofAnotherApp)) == 422)
    #expect(status(verdict(.ofAnotherApp, .withoutCustomer)) == 422)
  }

  @Test func `each result has a meaning`() {
    for result in ResultCode.known + [ResultCode(rawValue: "OF_A_LATER_VERSION")] {
      let expected: MbaasyVerdict.Part =
        switch result {
        case .internalError, .verificationFailed: .notValidated
        case .appMismatch: .ofAnotherApp
        case .customerErased: .withoutCustomer
        default: .validated
        }
      #expect(MbaasyVerdict.Part(.finalized(SynchronizationResult(result))) == expected, "\(result)")
    }
    #expect(MbaasyVerdict.Part(.accepted) == .enqueued)
    #expect(MbaasyVerdict.Part(.failed("why")) == .notAccepted("why"))
  }

  // MARK: Refusals

  @Test func `a wrong signature is a forgery, and everything else a mistake`() {
    let forgeries: Set<Rejection.Reason> = [
      .signatureInvalid, .chainUntrusted, .markerOIDMissing, .certificateInvalid, .chainLengthInvalid,
      .algorithmNotAllowed, .dateMissing,
    ]
    for reason in Rejection.Reason.known {
      let rejection = Rejection(reason, "a reason")
      #expect(rejection.isForgery == forgeries.contains(reason), "\(reason)")
      let error = MbaasyError(EvidenceRefusal.rejected(rejection, sha256: [1]))
      #expect(error.status == 422)
      #expect(body(error) == #"{"errors":{"receipt":["is not accepted: a reason"]}}"#)
    }
  }

  private func body(_ error: MbaasyError) -> String { String(decoding: error.response.body, as: UTF8.self) }

  private func retryAfter(_ error: MbaasyError) -> String? {
    error.response.headers.first { $0.name == "Retry-After" }?.value
  }

  @Test func `each refusal has its status`() {
    let refusals: [(MbaasyError, Int, String)] = [
      (MbaasyError(EvidenceRefusal.tooLarge), 422, "receipt"), (MbaasyError(EvidenceRefusal.busy), 503, "base"),
      (MbaasyError(DoorRefusal.unknownCustomer), 422, "user_identifier"),
      (MbaasyError(EvidenceRefusal.notActivated), 422, "receipt"),
      (MbaasyError(DoorRefusal.tooManyWaiting), 503, "base"),
      (MbaasyError(DoorRefusal.unavailable("The broker is away.")), 503, "base"), (.tooLarge(1000), 413, "base"),
      (.unauthorized("is wrong"), 401, "authorization"),
    ]
    for (error, status, field) in refusals {
      #expect(error.response.status == status)
      #expect(body(error).hasPrefix(#"{"errors":{"\#(field)":[""#))
      #expect((retryAfter(error) != nil) == (status == 503))
    }
    #expect(body(MbaasyError(DoorRefusal.unavailable("The broker is away."))).contains("The broker is away."))
  }

  @Test func `a field may have several mistakes, and texts are escaped`() {
    let error = MbaasyError.invalid([
      .init(field: .metadata, text: "one"), .init(field: .receipt, text: "a \"quote\""),
      .init(field: .metadata, text: "two"),
    ])
    #expect(body(error) == #"{"errors":{"receipt":["a \"quote\""],"metadata":["one","two"]}}"#)
  }

  // MARK: The receipt resource

  private let publisher = Publisher(
    id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: OfferCatalog([]),
    doors: OpenDoors(mbaasy: MbaasyDoor(policy: DoorPolicy(customerPrefix: "mb:"), clientTokens: [])), webhooks: [])

  private var caller: MbaasyAuthentication {
    MbaasyAuthentication(
      publisher: publisher,
      door: MbaasyDoor(
        policy: DoorPolicy(customerPrefix: "mb:"), clientTokens: []), bundleId: "com.example")
  }

  private func request(_ body: String) throws -> MbaasyRequest {
    try MbaasyRequest(Array(body.utf8), DoorPolicy(customerPrefix: "mb:"))
  }

  @Test func `a validated receipt`() throws {
    let request = try request(
      #"{"receipt":"A","user_identifier":"anna","metadata":{"a":1},"country_code":"DE","identifier_for_vendor":"v"}"#)
    var answer = MbaasyAnswer(
      request, of: caller, sha256: [1], ipAddress: "192.0.2.1", createdAt: 1_519_641_347_834)
    (answer.bundleId, answer.environment) = ("com.example", "production")
    let response = answer.response(200)
    #expect(response.status == 200)
    let expected = """
      {"id":"\(MbaasyIdentifier.receipt([1], of: 7))","style":"unified",\
      "app_family_id":"\(MbaasyIdentifier.app("com.example", of: 7))","bundle_id":"com.example","is_fraud":false,\
      "fraud_reason":null,"environment":"production","country_code":"DE","identifier_for_vendor":"v",\
      "user_identifier":"anna","metadata":{"a":1},"ip_address":"192.0.2.1","in_app_purchases":[],\
      "created_at":{"utc":"2018-02-26 10:35:47 UTC","ms":1519641347834},\
      "updated_at":{"utc":"2018-02-26 10:35:47 UTC","ms":1519641347834}}
      """
    #expect(String(decoding: response.body, as: UTF8.self) == expected)
  }

  @Test func `a forged receipt`() throws {
    var answer = MbaasyAnswer(
      try request(#"{"receipt":"A"}"#), of: caller, sha256: [1], ipAddress: nil, createdAt: 1000)
    answer.fraudReason = "why"
    let text = String(decoding: answer.response(402).body, as: UTF8.self)
    #expect(text.contains(#""bundle_id":null,"is_fraud":true,"fraud_reason":"why","environment":null"#))
    #expect(text.contains(#""user_identifier":null,"metadata":null,"ip_address":null,"in_app_purchases":[]"#))
  }

  @Test func `the receipt is as new as its newest purchase`() throws {
    var answer = MbaasyAnswer(
      try request(#"{"receipt":"A"}"#), of: caller, sha256: [1], ipAddress: nil, createdAt: 1000)
    answer.purchases = [Int64(5000), 9000, 7000].map { updated in
      var purchase = TestPurchases.purchase(TestPurchases.transaction())
      purchase.updatedAt = updated
      return MbaasyPurchase(purchase, shownTo: nil, caller)
    }
    let body = try JSONText(answer.response(200).body).decoded(as: Shown.self)
    #expect(body.createdAt.ms == 1000)
    #expect(body.updatedAt.ms == 9000)
    #expect(body.purchases.count == 3)
  }

  private struct Shown: Decodable {
    struct Time: Decodable { let ms: Int64 }
    struct Purchase: Decodable { let id: String }
    let createdAt: Time
    let updatedAt: Time
    let purchases: [Purchase]

    private enum CodingKeys: String, CodingKey {
      case createdAt = "created_at"
      case updatedAt = "updated_at"
      case purchases = "in_app_purchases"
    }
  }

  @Test func `the resources have the members that are documented`() throws {
    func documented(_ schema: String) throws -> [String] {
      try OpenAPIFile().keys("components", "schemas", schema, "properties").sorted()
    }
    func names(_ json: [UInt8]) throws -> [String] {
      try JSONText(json).decoded(as: [String: JSONValue].self).keys.sorted()
    }
    let answer = MbaasyAnswer(
      try request(#"{"receipt":"A"}"#), of: caller, sha256: [1], ipAddress: nil, createdAt: 0)
    #expect(try names(answer.response(200).body) == documented("MbaasyReceipt"))
    let purchase = MbaasyPurchase(
      TestPurchases.purchase(TestPurchases.transaction()), shownTo: nil, caller)
    #expect(try names(JSONWriter.object { purchase.write(to: &$0) }) == documented("MbaasyPurchase"))
  }

  // MARK: What a customer sees

  @Test func `a purchase that Apple has not confirmed is missing once its access is over`() {
    func count(_ until: Double?) -> Int {
      var purchase = TestPurchases.purchase(TestPurchases.transaction(expires: 30), owner: "mb:anna")
      purchase.provisionalUntil = until.map { TestPurchases.at($0) }
      return MbaasyPurchase.shown([purchase], to: "mb:anna", caller, now: TestPurchases.at(10)).count
    }
    #expect([nil, 11, 10, 9].map(count) == [1, 1, 0, 0])
  }

  @Test func `only the owner sees the owner, and what the owner's app gave`() {
    func shown(_ owner: CustomerId?, to customer: CustomerId?) -> MbaasyPurchase {
      var purchase = TestPurchases.purchase(TestPurchases.transaction(), owner: owner)
      purchase.attributes = PurchaseAttributes(identifierForVendor: "v", metadata: Array("{}".utf8))
      return MbaasyPurchase(purchase, shownTo: customer, caller)
    }
    #expect(shown("mb:anna", to: "mb:anna").userIdentifier == "anna")
    #expect(shown("mb:anna", to: "mb:anna").metadata == Array("{}".utf8))
    for customer: CustomerId? in [nil, "mb:bert", "anna", ""] {
      let other = shown("mb:anna", to: customer)
      #expect(other.userIdentifier == nil && other.metadata == nil && other.identifierForVendor == nil)
    }
    // Nobody owns it: an app without a user gave the metadata.
    for customer: CustomerId? in [nil, "mb:bert"] {
      #expect(shown(nil, to: customer).userIdentifier == nil)
      #expect(shown(nil, to: customer).metadata == Array("{}".utf8))
    }
  }
}
