import Crypto
import Domain
import Formats
import JSON
import Ledger
import Testing

@testable import Doors
@testable import Notifier

/// The body for an event, by format.
struct WebhookPayloadTests {
  private static let updated = #"{"type":"purchases.updated","applicationUsername":"42","purchases":{}}"#
  private static let mbaasyBody = #"{"id":"e","type":"in_app_purchase","data":{"product_id":"p","n":1.50}}"#
  private let key = Array("0123456789abcdef0123456789abcdef".utf8)
  private var password: String { String(decoding: key, as: UTF8.self) }

  private func body(_ topic: EventTopic, data: String) -> String {
    #"{"broadcasterId":7,"data":\#(data),"topic":"\#(topic)"}"#
  }

  private func payload(
    _ format: WebhookEndpoint.Format, _ body: String, signature: WebhookEndpoint.Signature = .v1
  ) throws -> WebhookPayload {
    let headers: [String: EventHeader] = ["cloudEvents_time": "2026-11-21T18:00:00.000Z", "version": 5]
    let delivery = try Delivery(
      eventId: "evt_0123456789abcdef0123456789abcdef", endpointId: nil, headers: headers, body: Array(body.utf8))
    let endpoint = WebhookEndpoint(id: "e", url: "u", topics: [], format: format, signature: signature, secrets: [])
    return WebhookPayload(delivery, endpoint, keys: [key, [1]])
  }

  private func text(_ payload: WebhookPayload) -> String { String(decoding: payload.body, as: UTF8.self) }

  @Test(arguments: [EventTopic.purchasesUpdated, EventTopic.synchronizationResult, EventTopic.inAppPurchaseCreated])
  func `cleeng is the event byte for byte`(topic: EventTopic) throws {
    let body = body(topic, data: Self.updated)
    let payload = try payload(.cleeng, body)
    #expect(text(payload) == body && payload.headers.isEmpty)
  }

  @Test func `fovea is the data with the password`() throws {
    let payload = try payload(.fovea, body(EventTopic.purchasesUpdated, data: Self.updated))
    #expect(text(payload) == #"{"password":"\#(password)","# + Self.updated.dropFirst())
    #expect(payload.headers.isEmpty)
    // A receiver reads it as one object.
    _ = try JSONText(payload.body)
  }

  @Test func `fovea never contains a private key`() throws {
    let payload = try payload(.fovea, body(EventTopic.purchasesUpdated, data: Self.updated), signature: .v1a)
    #expect(text(payload) == Self.updated)
  }

  @Test(arguments: [EventTopic.inAppPurchaseCreated, EventTopic.inAppPurchaseUpdated])
  func `mbaasy is the data with its digest`(topic: EventTopic) throws {
    let payload = try payload(.mbaasy, body(topic, data: Self.mbaasyBody))
    #expect(text(payload) == Self.mbaasyBody)
    let digest = Hex.encode(HMACSHA256.authenticate(Array(Self.mbaasyBody.utf8), key: key))
    #expect(payload.headers == [.init(name: "X-SHA256-Digest", value: digest)])
    #expect(try self.payload(.mbaasy, body(topic, data: Self.mbaasyBody), signature: .v1a).headers.isEmpty)
  }

  @Test func `test events`() throws {
    let body = body("test", data: "{}")
    #expect(try text(payload(.fovea, body)) == #"{"type":"test","password":"\#(password)"}"#)
    let mbaasy = try payload(.mbaasy, body)
    #expect(
      text(mbaasy) == """
        {"id":"\(MbaasyIdentifier.event("evt_0123456789abcdef0123456789abcdef"))","type":"in_app_purchase",\
        "name":"in_app_purchase.updated","data":{},"previous_attributes":{},"new_attributes":{},\
        "created_at":{"utc":"2026-11-21 18:00:00 UTC","ms":1795284000000}}
        """)
    #expect(mbaasy.headers.map(\.name) == ["X-SHA256-Digest"])
    #expect(try text(payload(.cleeng, body)) == body)
  }

  @Test(
    arguments: [
      (.fovea, EventTopic.synchronizationResult), (.fovea, EventTopic.webhookEndpointDisabled),
      (.fovea, EventTopic.inAppPurchaseUpdated), (.mbaasy, EventTopic.synchronizationResult),
      (.mbaasy, EventTopic.entitlementsChanged), (.mbaasy, EventTopic.purchasesUpdated),
    ] as [(WebhookEndpoint.Format, EventTopic)])
  func `an event that a format has no shape for is posted unchanged`(
    format: WebhookEndpoint.Format, topic: EventTopic
  ) throws {
    let body = body(topic, data: #"{"endpointId":"e"}"#)
    let payload = try payload(format, body)
    #expect(text(payload) == body && payload.headers.isEmpty)
  }
}
