import Formats
import JSON
import TestSupport
import Testing

@testable import Domain
@testable import Gateway

/// Compares docs/reference/openapi.yaml with what is answered and told about refunds.
struct OpenAPIRefundTests {
  private func names(_ bytes: [UInt8], _ path: String...) throws -> Set<String> {
    var value: JSONValue = try JSONText(bytes).decoded()
    for name in path {
      guard case .object(let members) = value, let member = members[name] else { return [] }
      value = member
    }
    if case .object(let members) = value { return Set(members.keys.map(\.text)) } else { return [] }
  }

  private func documented(_ path: String...) throws -> Set<String> {
    Set(try OpenAPIFile().keys(["components", "schemas"] + path + ["properties"]))
  }

  private let publisher = Publisher(
    id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [],
    offers: OfferCatalog([Offer(id: "S1", productIds: ["pass"])]), webhooks: [])

  /// A request with everything that can be known of one.
  private var full: RefundRequest {
    let key = PurchaseKey(publisherId: 7, environment: "Production", originalTransactionId: "1")
    return RefundRequest(
      id: "rfr_0123456789abcdef0123456789abcdef", purchase: key, transactionId: "1", bundleId: "b", productId: "pass",
      kind: .nonRenewing, customerId: "42", reason: "OTHER", requestedAt: 1, state: .refused,
      answer: ConsumptionAnswer(.delivered, percentage: 1, preference: .decline, isSampleProvided: true),
      answeredBy: .policy, consent: Consent(isGiven: true, textVersion: "1", time: 1), attempts: 1, lastError: "x",
      endedAt: 1)
  }

  @Test func `a refund request`() throws {
    let bytes = RefundRequestWriter(publisher).one(full)
    #expect(try names(bytes) == documented("RefundRequest"))
    #expect(try names(bytes, "answer") == documented("ConsumptionAnswer"))
    #expect(try documented("ConsumptionAnswer") == Set(refundAnswerMembers))
    #expect(
      try names(bytes, "consent")
        == Set(
          OpenAPIFile().keys(
            "components", "schemas", "RefundRequest", "properties", "consent", "properties")))
  }

  @Test func `a decision`() throws {
    let bytes = ConsentAPI.document(
      Consent(isGiven: true, textVersion: "1", time: 1), of: CustomerKey(publisherId: 7, id: "42"), isPresent: true)
    #expect(try names(bytes) == documented("KnownConsent"))
    #expect(try documented("Consent") == Set(consentMembers))
  }

  @Test func `the event`() throws {
    let event = Event(of: full, offerId: "S1", version: 1, time: 1, traceparent: nil)
    let path = ["components", "schemas", "RefundRequestedEvent", "properties", "data", "properties"]
    #expect(try names(event.body, "data") == Set(OpenAPIFile().keys(path)))
  }

  @Test func `every state is documented`() throws {
    let states = try OpenAPIFile().value("components", "schemas", "RefundState", "enum")
    #expect(states == "[\(RefundRequest.State.allCases.map(\.rawValue).joined(separator: ", "))]")
  }
}
