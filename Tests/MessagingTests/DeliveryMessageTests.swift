import Domain
import Testing

@testable import AMQP
@testable import Messaging

/// Messages of the notifier's queue.
struct DeliveryMessageTests {
  private static let body = #"{"broadcasterId":7,"topic":"inappPurchaseSyncResult","data":{"x":1}}"#

  private func message(
    id: String? = "evt_1", headers: [String: AMQPValue] = [:], body: String = body
  ) -> AMQPDelivery {
    var properties = AMQPProperties()
    properties.messageID = id
    properties.headers = headers
    return AMQPDelivery(
      tag: 1, isRedelivered: false, exchange: "e", routingKey: "k", properties: properties, body: Array(body.utf8))
  }

  private func reason(_ message: AMQPDelivery) -> String? {
    do {
      _ = try Delivery(message)
      return nil
    } catch {
      return error.reason
    }
  }

  @Test func firstTime() throws {
    let delivery = try Delivery(message())
    #expect(delivery.publisherId == 7)
    #expect(delivery.topic == "inappPurchaseSyncResult")
    #expect(delivery.eventId == "evt_1")
    #expect(delivery.endpointId == nil)
    #expect(delivery.attempt == 1)
    #expect(delivery.traceparent == nil)
    #expect(delivery.body == Array(Self.body.utf8))
  }

  @Test func delayed() throws {
    let headers: [String: AMQPValue] = [
      "countersign-endpoint": "backend", "countersign-attempt": 3, "traceparent": "00-a-b-00",
    ]
    let delivery = try Delivery(message(headers: headers))
    #expect(delivery.endpointId == "backend")
    #expect(delivery.attempt == 3)
    #expect(delivery.traceparent == "00-a-b-00")
    #expect(delivery.due == nil)
    #expect(delivery.parks == 0)
    #expect(delivery.misses == 0)
    #expect(delivery.round == "")
    #expect(!delivery.isPlanned)
  }

  /// Each number is one to which a notifier adds.
  @Test(arguments: [Int64.min, .min + 1, -1, .max - 1, .max]) func `numbers of a stranger end no notifier`(
    number: Int64
  ) throws {
    let names = ["attempt", "due", "parks", "misses", "waited"].map { "countersign-\($0)" }
    let delivery = try Delivery(
      message(headers: Dictionary(uniqueKeysWithValues: names.map { ($0, .int(number)) })))
    #expect((1...1_000_000).contains(delivery.attempt))
    #expect((0...1_000_000).contains(delivery.parks) && (0...1_000_000).contains(delivery.misses))
    #expect((0...31_536_000_000).contains(delivery.waited))
    #expect((0...253_402_300_799_999).contains(try #require(delivery.due)))
  }

  @Test(arguments: [AMQPValue.int(0), .int(-5), .int(.min), "3", .other]) func strangeAttempts(value: AMQPValue) throws
  {
    #expect(try Delivery(message(headers: ["countersign-attempt": value])).attempt == 1)
  }

  @Test(arguments: [nil, "", "a.b"]) func unusableId(id: String?) {
    #expect(reason(message(id: id)) == "the message has no usable id")
  }

  @Test(arguments: [
    "", "x", "[]", "null", "{}", #"{"broadcasterId":7}"#, #"{"topic":"t"}"#, #"{"broadcasterId":"7","topic":"t"}"#,
    #"{"broadcasterId":7.5,"topic":"t"}"#, #"{"broadcasterId":7,"topic":null}"#,
  ])
  func noEvent(body: String) {
    #expect(reason(message(body: body)) == "the body is not an event")
  }

  /// The message drops the broker's headers, keeps the worker's headers, and does not change the body.
  @Test func messageToAnEndpoint() throws {
    let headers: [String: AMQPValue] = [
      "cloudEvents_id": "evt_1", "version": 4, "traceparent": "t", "x-death": .other, "x-delivery-count": 2,
      "cloudEvents_odd": .other, "countersign-attempt": 1, "countersign-reason": "old",
    ]
    let delivery = try Delivery(message(headers: headers))
    var second = delivery
    second.endpointId = "backend"
    second.attempt = 2
    second.due = 99
    second.isPlanned = true
    second.parks = 3
    second.misses = 4
    second.waited = 5
    second.round = "r"
    let delayed = second.message(queue: "q")
    #expect(delayed.exchange == "")
    #expect(delayed.routingKey == "q")
    #expect(delayed.messageID == "evt_1")
    #expect(delayed.type == "inappPurchaseSyncResult")
    #expect(delayed.body == Array(Self.body.utf8))
    let expected: [String: AMQPValue] = [
      "cloudEvents_id": "evt_1", "version": 4, "traceparent": "t", "countersign-endpoint": "backend",
      "countersign-attempt": 2, "countersign-due": 99, "countersign-planned": true, "countersign-parks": 3,
      "countersign-misses": 4, "countersign-waited": 5, "countersign-round": "r",
    ]
    #expect(delayed.headers == expected)
    // Reading gives back what the message wrote.
    #expect(try Delivery(message(headers: delayed.headers)) == second)
    let buried = second.message(queue: "dead", reason: String(repeating: "x", count: 1001))
    #expect(buried.headers["countersign-reason"] == .string(String(repeating: "x", count: 1000)))
  }

  @Test func `the delivery of a notification is the same behind the broker`() throws {
    let key = NotificationKey(publisherId: 1001, uuid: "002e14d5-51f5-4503-b5a8-c3a1af68eb20")
    let delivery = try #require(Delivery(key, to: "fwd_1"))
    let sent = delivery.message(queue: "q")
    let received = message(id: sent.messageID, headers: sent.headers, body: String(decoding: sent.body, as: UTF8.self))
    #expect(try Delivery(received) == delivery)
  }
}
