import Domain
import Testing

@testable import AMQP
@testable import Messaging

/// Jobs on the wire.
struct JobMessageTests {
  private let job = Job(
    synchronizationId: "sync-1", publisherId: 7, customerId: "42", transactionId: "100", registeredAt: 5,
    traceparent: "00-t")

  private func delivery(
    _ body: [UInt8], headers: [String: AMQPValue] = [:], id: String? = "1", type: String? = "application/json"
  ) -> AMQPDelivery {
    var properties = AMQPProperties()
    properties.messageID = id
    properties.contentType = type
    properties.type = "job"
    properties.headers = headers
    return AMQPDelivery(
      tag: 9, isRedelivered: true, exchange: "", routingKey: "jobs", properties: properties, body: body)
  }

  private func reason(_ body: String, headers: [String: AMQPValue] = [:]) -> String? {
    do {
      _ = try JobMessage.read(delivery(Array(body.utf8), headers: headers), doors: DoorCatalog())
      return nil
    } catch {
      guard case .malformed(let reason) = error else { return "\(error)" }
      return reason
    }
  }

  @Test func message() throws {
    let message = JobMessage.message(job, attempt: 3, queue: "cs.jobs")
    #expect(message.exchange == "")
    #expect(message.routingKey == "cs.jobs")
    #expect(message.messageID == "job_1fe5d91256c50a63b7c5bb6f55437c8a_3")
    #expect(message.type == "job")
    #expect(message.contentType == "application/json")
    #expect(message.headers == ["countersign-attempt": 3, "traceparent": "00-t"])
    #expect(
      String(decoding: message.body, as: UTF8.self)
        == #"{"customerId":"42","format":1,"publisherId":7,"registeredAt":5,"synchronizationId":"sync-1","#
        + #""traceparent":"00-t","transactionId":"100"}"#)
  }

  @Test func roundTrip() throws {
    let message = JobMessage.message(job, attempt: 3, queue: "q")
    let read = try JobMessage.read(delivery(message.body, headers: message.headers), doors: DoorCatalog())
    #expect(read.job == job)
    #expect(read.attempt == 3)
  }

  @Test func withoutAHeaderItIsTheFirstAttempt() throws {
    let body = JobMessage.message(job, attempt: 3, queue: "q").body
    #expect(try JobMessage.read(delivery(body), doors: DoorCatalog()).attempt == 1)
    #expect(try JobMessage.read(delivery(body, headers: ["x-death": .other]), doors: DoorCatalog()).attempt == 1)
  }

  @Test(arguments: [Int64(0), -1, .min, .max, 1_000_001]) func strangeAttempts(attempt: Int64) throws {
    let body = String(decoding: JobMessage.message(job, attempt: 1, queue: "q").body, as: UTF8.self)
    #expect(reason(body, headers: ["countersign-attempt": .int(attempt)]) == "attempt \(attempt)")
  }

  @Test(arguments: [
    ("", "not a job: the body is not JSON"), ("x", "not a job: the body is not JSON"),
    ("{}", "not a job: format is missing"), (#"{"format":"1"}"#, "not a job: format has another type"),
    (
      #"{"format":1,"synchronizationId":null,"publisherId":7,"customerId":"42","transactionId":"1","registeredAt":5}"#,
      "not a job: synchronizationId has another type"
    ),
    (
      #"{"format":0,"synchronizationId":"a","publisherId":7,"customerId":"42","transactionId":"1","registeredAt":5}"#,
      "format 0, expected 1 to 3"
    ),
    (
      #"{"format":1,"synchronizationId":"a","publisherId":7,"customerId":"42","transactionId":"x","registeredAt":5}"#,
      "transactionId is not 1 to 32 digits"
    ),
  ])
  func malformed(body: String, expected: String) {
    #expect(reason(body) == expected)
  }

  @Test(arguments: [#"{"format":4}"#, #"{"customerId":"seven","format":4,"transactionId":{}}"#])
  func aJobOfANewerFormatIsNotMalformed(body: String) {
    #expect(throws: JobMessage.Unreadable.newer(Job.NewerFormat(format: 4))) {
      try JobMessage.read(delivery(Array(body.utf8), headers: ["countersign-attempt": -7]), doors: DoorCatalog())
    }
  }

  @Test func puttingOffKeepsEverythingOfOurs() {
    let body = Array(#"{"format":4,"new":true}"#.utf8)
    var headers: [String: AMQPValue] = [
      "countersign-attempt": 4, "countersign-new": "x", "countersign-odd": .other, "x-death": .other,
      "traceparent": "00-t",
    ]
    for parks in 0..<3 {
      var seen: Int?
      let message = JobMessage.putOff(delivery(body, headers: headers)) { before in
        seen = before
        return "cs.jobs.delay.1000"
      }
      #expect(seen == parks)
      #expect(message.exchange == "")
      #expect(message.routingKey == "cs.jobs.delay.1000")
      #expect(message.messageID == "1")
      #expect(message.contentType == "application/json")
      #expect(message.type == "job")
      #expect(message.body == body)
      #expect(
        message.headers == [
          "countersign-attempt": 4, "countersign-new": "x", "traceparent": "00-t", "countersign-redelivered": true,
          "countersign-parks": .int(Int64(parks) + 1),
        ])
      headers = message.headers
    }
  }

  @Test(arguments: [(Int64.min, 0), (-1, 0), (.max, Int.max)]) func strangeCountsOfPuttingOff(count: Int64, seen: Int) {
    let message = JobMessage.putOff(delivery([], headers: ["countersign-parks": .int(count)])) { before in
      #expect(before == seen)
      return "q"
    }
    #expect(message.headers["countersign-parks"] == .int(Int64(min(seen, 1_000_000)) + 1))
  }

  @Test func theEndOfAWaitIsAHeader() throws {
    let message = JobMessage.message(job, attempt: 3, queue: "q", due: 1_700_000_000_123)
    #expect(message.headers["countersign-due"] == 1_700_000_000_123)
    #expect(JobMessage.due(delivery(message.body, headers: message.headers)) == 1_700_000_000_123)
    #expect(JobMessage.due(delivery(message.body)) == nil)
  }

  @Test func deadKeepsTheBodyAndTellsWhy() {
    let body: [UInt8] = [0xFF, 0x00]
    let headers: [String: AMQPValue] = [
      "countersign-attempt": 4, "countersign-odd": .other, "x-death": .other, "x-delivery-count": 3, "traceparent": "t",
      "countersign-reason": "older",
    ]
    let dead = JobMessage.dead(delivery(body, headers: headers), reason: "why", queue: "cs.jobs.dead")
    #expect(dead.exchange == "")
    #expect(dead.routingKey == "cs.jobs.dead")
    #expect(dead.messageID == "1")
    #expect(dead.contentType == "application/json")
    #expect(dead.type == "job")
    #expect(dead.body == body)
    #expect(dead.headers == ["countersign-attempt": 4, "countersign-reason": "why"])
  }

  @Test func deadWithoutProperties() {
    let dead = JobMessage.dead(
      delivery([], id: nil, type: nil), reason: String(repeating: "x", count: 2000), queue: "q")
    #expect(dead.messageID == "dead-9")
    #expect(dead.contentType == "application/octet-stream")
    #expect(dead.headers == ["countersign-reason": .string(String(repeating: "x", count: 1000))])
  }
}

/// Events on the wire.
struct EventMessageTests {
  @Test func message() throws {
    for traceparent in [nil, "00-t"] {
      let synchronization = Synchronization(
        id: "sync-1", publisherId: 7, customerId: "42", transactionId: "100", status: .finalized,
        result: SynchronizationResult(.internalError), version: 3, finalizedAt: 1_700_000_000_050,
        traceparent: traceparent)
      let event = try #require(Event(of: synchronization))
      let message = EventMessage.message(event, exchange: "cs.events")
      #expect(message.exchange == "cs.events")
      #expect(message.routingKey == "inappPurchaseSyncResult.7")
      #expect(message.messageID == event.id.text)
      #expect(message.type == "inappPurchaseSyncResult")
      #expect(message.contentType == "application/json")
      #expect(message.body == event.body)
      var expected: [String: AMQPValue] = [
        "cloudEvents_specversion": "1.0", "cloudEvents_id": .string(event.id.text),
        "cloudEvents_source": "/countersign/7",
        "cloudEvents_type": "inappPurchaseSyncResult", "cloudEvents_time": "2023-11-14T22:13:20.050Z", "version": 3,
      ]
      expected["traceparent"] = traceparent.map(AMQPValue.string)
      #expect(message.headers == expected)
    }
  }
}

/// The names of the queues.
struct TopologyTests {
  @Test func names() {
    let topology = Topology(prefix: "cs")
    #expect(topology.jobs == "cs.jobs")
    #expect(topology.deadJobs == "cs.jobs.dead")
    #expect(topology.events == "cs.events")
    #expect(topology.deliveries == "cs.notifier")
    #expect(topology.deliveries(.few) == "cs.notifier")
    #expect(topology.deliveries(.burst) == "cs.notifier.burst")
    #expect(topology.deliveries(.flood) == "cs.notifier.flood")
    #expect(topology.deadDeliveries == "cs.notifier.dead")
    #expect(topology.jobDelay(.seconds(1)) == "cs.jobs.delay.1000")
    #expect(topology.jobDelay(.milliseconds(50)) == "cs.jobs.delay.50")
    #expect(topology.jobs(.usual) == "cs.jobs" && topology.jobs(.bulk) == "cs.jobs.bulk")
    #expect(topology.jobDelay(.seconds(1), .bulk) == "cs.jobs.bulk.delay.1000")
    #expect(topology.deliveryDelay(.seconds(1800)) == "cs.notifier.delay.1800000")
    let delays = [1, 2, 5, 10, 30, 60, 300, 1800]
    #expect(
      Set(topology.queues)
        == Set(
          ["cs.jobs", "cs.jobs.bulk", "cs.jobs.dead", "cs.notifications", "cs.notifier", "cs.notifier.dead"]
            + ["cs.notifier.burst", "cs.notifier.flood", "cs.probe"]
            + delays.map { "cs.jobs.delay.\($0)000" } + delays.map { "cs.jobs.bulk.delay.\($0)000" }
            + delays.map { "cs.notifier.delay.\($0)000" }))
  }
}
