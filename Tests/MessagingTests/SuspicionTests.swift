import Domain
import Testing

@testable import AMQP
@testable import Messaging

/// What a message tells about the notifiers that died while they had it.
struct SuspicionTests {
  private static let body = Array(#"{"broadcasterId":7,"topic":"t","data":{}}"#.utf8)

  private func message(
    _ headers: [String: AMQPValue] = [:], id: String? = "evt_1", isRedelivered: Bool = false, body: [UInt8] = body
  ) -> AMQPDelivery {
    var properties = AMQPProperties()
    properties.messageID = id
    properties.type = "t"
    properties.headers = headers
    return AMQPDelivery(
      tag: 1, isRedelivered: isRedelivered, exchange: "", routingKey: "k", properties: properties, body: body)
  }

  @Test func `only what comes again is a suspect`() {
    #expect(!Suspicion(message()).isSuspect)
    #expect(Suspicion(message(isRedelivered: true)).isSuspect)
    #expect(Suspicion(message(["countersign-redelivered": true])).isSuspect)
    #expect(Suspicion(message(["countersign-crashes": 1])).isSuspect)
    #expect(!Suspicion(message(["countersign-crashes": -5])).isSuspect)
    #expect(Suspicion(message(["countersign-crashes": .int(.max)])).crashes == 1_000_000)
  }

  @Test(arguments: [
    // The header's count, whether the broker delivers again, the runs that began since and never ended, and all.
    (0, false, 0, 0), (3, false, 0, 3), (0, true, 0, 1), (0, true, 4, 5), (2, true, 0, 2), (2, true, 2, 4),
    (2, false, 2, 4),
  ])
  func `the first death is told by the next delivery, and the others by the runs that began`(
    header: Int64, again: Bool, begun: Int, crashes: Int
  ) {
    let suspicion = Suspicion(message(["countersign-crashes": .int(header)], isRedelivered: again))
    #expect(suspicion.crashes(begun: begun) == crashes)
  }

  @Test func `a copy has the name of its message, and the next attempt another one`() {
    let headers: [String: AMQPValue] = ["countersign-endpoint": "a", "countersign-attempt": 2]
    let name = Suspicion(message(headers)).name
    var more = headers
    more["countersign-parks"] = 5
    more["x-delivery-count"] = 3
    #expect(Suspicion(message(more, isRedelivered: true)).name == name)
    let others: [(String, AMQPValue)] = [
      ("countersign-attempt", 3), ("countersign-endpoint", "b"), ("countersign-round", "r"),
      // What the header counts must not count in Redis too.
      ("countersign-crashes", 2),
    ]
    for (key, value) in others {
      var other = headers
      other[key] = value
      #expect(Suspicion(message(other)).name != name)
    }
    #expect(Suspicion(message(headers, id: "evt_2")).name != name)
    #expect(Suspicion(message(headers, body: [1])).name != name)
    // Not only the texts count, but where one ends and the next begins.
    #expect(
      Suspicion(message(["countersign-endpoint": "a"], id: "b")).name
        != Suspicion(message(["countersign-endpoint": ""], id: "ba")).name)
  }

  @Test func `a copy keeps the event's headers and its body, read or not`() {
    let headers: [String: AMQPValue] = [
      "cloudEvents_id": "evt_1", "traceparent": "00-a", "version": 4, "countersign-endpoint": "a",
      "countersign-redelivered": true, "countersign-crashes": 2, "x-death": .other, "x-delivery-count": 3,
    ]
    let late = Suspicion.copy(of: message(headers, body: [0xFF]), queue: "q", crashes: 3)
    #expect(late.routingKey == "q" && late.messageID == "evt_1" && late.body == [0xFF])
    #expect(
      late.headers == [
        "cloudEvents_id": "evt_1", "traceparent": "00-a", "version": 4, "countersign-endpoint": "a",
        "countersign-crashes": 3,
      ])
    let uncounted = Suspicion.copy(of: message(headers), queue: "q", crashes: 2, isUncounted: true)
    #expect(uncounted.headers["countersign-redelivered"] == true)
    // Whoever moves it back wants it tried again.
    let dead = Suspicion.copy(of: message(headers), queue: "q", reason: "why")
    #expect(dead.headers["countersign-reason"] == "why")
    #expect(dead.headers["countersign-crashes"] == nil && dead.headers["countersign-redelivered"] == nil)
  }

  @Test func `the count goes on while a delivery is put off, and ends with its attempt`() throws {
    var delivery = try Delivery(message(["countersign-crashes": 2]))
    #expect(delivery.crashes == 2)
    #expect(delivery.message(queue: "q").headers["countersign-crashes"] == 2)
    #expect(delivery.message(queue: "q", reason: "dead").headers["countersign-crashes"] == nil)
    delivery.crashes = 0
    #expect(delivery.message(queue: "q").headers["countersign-crashes"] == nil)
  }

  @Test func `what is put aside ends in the ledger, and in the log of its endpoint`() {
    let source: AMQPValue = "/countersign/7"
    let headers: [String: AMQPValue] = [
      "cloudEvents_source": source, "countersign-endpoint": "a", "countersign-round": "r", "countersign-attempt": 3,
      "version": 9,
    ]
    // The body is not read: it may be what kills.
    let end = Suspicion(message(headers, body: [0xFF])).end("why", at: 5)
    #expect(end.publisherId == 7 && end.endpointId == "a" && end.round == "r" && end.eventId == "evt_1")
    let attempt = DeliveryAttempt(
      eventId: "evt_1", endpointId: "a", topic: "t", version: 9, number: 3, time: 5, error: "why", result: .abandoned)
    #expect(end.kind == .putAside(attempt))
    let notification = Suspicion(message(["countersign-endpoint": "f"], id: "ntf_8_ab-1")).end("why", at: 5)
    #expect(notification.publisherId == 8 && notification.endpointId == "f")
    // Nobody has looked yet which endpoints get the event, or nobody can tell whose it is.
    #expect(Suspicion(message(["cloudEvents_source": source])).end("why", at: 5).kind == .dropped)
    #expect(Suspicion(message(["countersign-endpoint": "a"])).end("why", at: 5).kind == .dropped)
    let other = message(["cloudEvents_source": "/other/7", "countersign-endpoint": "a"])
    #expect(Suspicion(other).end("why", at: 5).kind == .dropped)
  }
}
