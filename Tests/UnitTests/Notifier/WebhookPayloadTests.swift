import AMQP
import Crypto
import Domain
import Formats
import JSON
import Ledger
import Testing

@testable import Notifier

/// The body for an event, by format.
struct WebhookPayloadTests {
  private static let body = """
    {"broadcasterId":7,"data":{"accessGranted":true,"cleengCustomerId":42,"customerId":"42","environment":"Sandbox","offerId":"S1",\
    "originalTransactionId":"99","result":"PURCHASE_SYNCHRONIZED","synchronizationId":"s","transactionId":"100"},\
    "topic":"inappPurchaseSyncResult"}
    """
  private let key = Array("0123456789abcdef0123456789abcdef".utf8)

  private func payload(
    _ format: WebhookEndpoint.Format, body: String = Self.body, signature: WebhookEndpoint.Signature = .v1
  ) throws -> WebhookPayload {
    let headers: [String: AMQPValue] = ["cloudEvents_time": "2026-11-21T18:00:00.000Z", "version": 5]
    let delivery = try Delivery(
      eventId: "evt_0123456789abcdef0123456789abcdef", endpointId: nil, headers: headers, body: Array(body.utf8))
    let endpoint = WebhookEndpoint(id: "e", url: "u", topics: [], format: format, signature: signature, secrets: [])
    return WebhookPayload(delivery, endpoint, keys: [key, [1]])
  }

  private func value(_ payload: WebhookPayload) throws -> JSONValue { try JSONText(payload.body).decoded() }

  @Test func cleengIsTheEventByteForByte() throws {
    let payload = try payload(.cleeng)
    #expect(payload.body == Array(Self.body.utf8))
    #expect(payload.headers.isEmpty)
  }

  @Test func fovea() throws {
    let common: [ExactText: JSONValue] = [
      "productId": "S1", "purchaseId": "apple:99", "transactionId": "apple:100",
    ].mapValues { .string($0) }
    let expected: [ExactText: JSONValue] = [
      "type": .string("purchases.updated"), "password": .string(String(decoding: key, as: UTF8.self)),
      "applicationUsername": .string("42"),
      "purchases": .object([
        "S1": .object(
          common.merging(["platform": .string("apple"), "sandbox": .bool(true), "isExpired": .bool(false)]) { $1 })
      ]),
      "notification": .object(
        common.merging([
          "reason": .string("RECEIPT_VALIDATED"), "id": .string("evt_0123456789abcdef0123456789abcdef"),
          "date": .string("2026-11-21T18:00:00.000Z"),
        ]) { $1 }),
    ]
    let payload = try payload(.fovea)
    #expect(try value(payload) == .object(expected))
    #expect(payload.headers.isEmpty)
  }

  @Test func `the environment is told in the words of each format`() throws {
    let body = Self.body.replacing("Sandbox", with: "Production")
    let fovea = String(decoding: try payload(.fovea, body: body).body, as: UTF8.self)
    #expect(fovea.contains(#""sandbox":false"#))
    let mbaasy = String(decoding: try payload(.mbaasy, body: body).body, as: UTF8.self)
    #expect(mbaasy.contains(#""environment":"production""#))
    // Older events do not name the environment.
    let old = Self.body.replacing(#""environment":"Sandbox","#, with: "")
    for format in [WebhookEndpoint.Format.fovea, .mbaasy] {
      let text = String(decoding: try payload(format, body: old).body, as: UTF8.self)
      #expect(!text.contains("sandbox") && !text.contains("environment"))
    }
  }

  /// The body leaves out what the event does not know, and never contains a private key.
  @Test func foveaOfWhatGivesNothing() throws {
    let body = """
      {"broadcasterId":7,"data":{"accessGranted":false,"result":"TRANSACTION_ID_NOT_FOUND"},\
      "topic":"inappPurchaseSyncResult"}
      """
    let text = String(decoding: try payload(.fovea, body: body, signature: .v1a).body, as: UTF8.self)
    #expect(
      text == """
        {"type":"purchases.updated","purchases":{},"notification":{"reason":"OTHER",\
        "id":"evt_0123456789abcdef0123456789abcdef","date":"2026-11-21T18:00:00.000Z"}}
        """)
  }

  @Test func mbaasy() throws {
    let attributes: JSONValue = .object([
      "product_id": .string("S1"), "original_transaction_id": .string("99"), "transaction_id": .string("100"),
      "environment": .string("sandbox"), "user_id": .string("42"), "result": .string("PURCHASE_SYNCHRONIZED"),
      "access_granted": .bool(true),
    ])
    let payload = try payload(.mbaasy)
    #expect(
      try value(payload)
        == .object([
          "id": .string("01234567-89ab-cdef-0123-456789abcdef"), "type": .string("in_app_purchase"),
          "name": .string("in_app_purchase.updated"), "data": attributes, "previous_attributes": .object([:]),
          "new_attributes": attributes, "created_at": .string("2026-11-21T18:00:00.000Z"),
        ]))
    let digest = Hex.encode(HMACSHA256.authenticate(payload.body, key: key))
    #expect(payload.headers == [.init(name: "X-SHA256-Digest", value: digest)])
    #expect(try self.payload(.mbaasy, signature: .v1a).headers.isEmpty)
  }

  @Test func testEvents() throws {
    let body = #"{"broadcasterId":7,"topic":"test","data":{}}"#
    #expect(
      String(decoding: try payload(.fovea, body: body).body, as: UTF8.self)
        == "{\"type\":\"test\",\"password\":\"\(String(decoding: key, as: UTF8.self))\"}")
    #expect(try payload(.mbaasy, body: body).headers.count == 1)
    #expect(try payload(.cleeng, body: body).body == Array(body.utf8))
  }

  @Test(arguments: [WebhookEndpoint.Format.fovea, .mbaasy]) func anEventThatOthersHaveNoShapeFor(
    format: WebhookEndpoint.Format
  ) throws {
    let body = #"{"broadcasterId":7,"topic":"webhookEndpointDisabled","data":{"endpointId":"e"}}"#
    let payload = try payload(format, body: body)
    #expect(payload.body == Array(body.utf8))
    #expect(payload.headers.isEmpty)
  }
}
