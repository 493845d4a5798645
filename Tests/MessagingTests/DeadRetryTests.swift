import AMQP
import Domain
import Testing

@testable import Messaging

/// What a retry does with one dead message.
struct DeadRetryTests {
  private static let topology = Topology(prefix: "cs")

  private func retry(_ message: DeadMessage, isDisabled: Bool = false) -> DeadMessage.Retry {
    message.retry(in: Self.topology, doors: DoorCatalog(), isDisabled: isDisabled) { "next-of-\($0)" }
  }

  private func again(_ message: DeadMessage) -> AMQPMessage? {
    if case .again(let message) = retry(message) { message } else { nil }
  }

  private func obstacle(_ message: DeadMessage, isDisabled: Bool = false) -> DeadMessage.Obstacle? {
    if case .stays(let obstacle) = retry(message, isDisabled: isDisabled) { obstacle } else { nil }
  }

  private func job(_ headers: [String: AMQPValue], _ body: String = DeadMessageTests.good) -> DeadMessage {
    DeadMessageTests.job(body, headers)
  }

  @Test func `a job begins with its first attempt, and keeps its run`() throws {
    let message = try #require(
      again(
        job([
          "countersign-attempt": 9, "countersign-run": 4, "countersign-redelivered": true, "x-death": .other,
          "countersign-buried": 5, "x-first-death-reason": "delivery_limit",
        ])))
    #expect(message.exchange == "" && message.routingKey == "cs.jobs")
    #expect(message.headers == ["countersign-attempt": 1, "countersign-run": 4])
    let read = try JobMessage.read(AMQPDelivery(of: message), doors: DoorCatalog())
    #expect(read.attempt == 1 && read.job.synchronizationId == "s" && read.job.customerId == "kim")
    let bulk = DeadMessageTests.good.dropLast() + #","lane":"bulk"}"#
    #expect(again(job([:], String(bulk)))?.routingKey == "cs.jobs.bulk")
  }

  @Test func `a job stays that is finalized, that nobody can read, or that only a newer build can`() {
    #expect(obstacle(job(["countersign-cause": "crashed"])) == .finalized)
    #expect(obstacle(job(["countersign-cause": "superseded"])) == .finalized)
    #expect(obstacle(job([:], "no JSON")) == .unreadable)
    #expect(obstacle(job([:], #"{"format":99}"#)) == .newerFormat)
    // What a build before this one could not read.
    #expect(again(job(["countersign-cause": "malformed"])) != nil)
  }

  private static let dead: [String: AMQPValue] = [
    "countersign-endpoint": "ep_1", "countersign-attempt": 8, "countersign-round": "r", "countersign-misses": 2,
    "countersign-due": 99, "countersign-parks": 3, "countersign-waited": 4, "countersign-crashes": 6,
    "countersign-planned": true, "countersign-reason": "status 500", "countersign-cause": "abandoned",
    "countersign-buried": 5, "cloudEvents_id": "evt_1", "version": 3, "traceparent": "00-a-b-00", "x-death": .other,
  ]

  @Test func `a delivery begins a new round with its first attempt`() throws {
    let dead = DeadMessageTests.delivery(headers: Self.dead)
    let message = try #require(again(dead))
    #expect(message.routingKey == "next-of-7" && message.messageID == "evt_1" && message.body == dead.delivery.body)
    let round = try #require(message.headers["countersign-round"]?.string)
    #expect(round.hasPrefix("retry-") && round.utf8.count == 38)
    #expect(
      message.headers == [
        "countersign-endpoint": "ep_1", "countersign-attempt": 1, "countersign-round": .string(round),
        "cloudEvents_id": "evt_1", "version": 3, "traceparent": "00-a-b-00",
      ])
  }

  @Test func `the same dead message has the same round however often it is retried, and another one has another`() {
    func round(_ headers: [String: AMQPValue], id: String = "evt_1") -> String? {
      let message = DeadMessageTests.delivery(headers: headers, id: id)
      return again(message)?.headers["countersign-round"]?.string
    }
    let one = round(Self.dead)
    var more = Self.dead
    (more["countersign-buried"], more["countersign-cause"]) = (6, "crashed")
    #expect(round(more) == one)
    #expect(round(Self.dead, id: "evt_2") != one)
    for (name, value) in [
      ("countersign-endpoint", AMQPValue.string("ep_2")), ("countersign-attempt", 7), ("countersign-round", "s"),
    ] {
      var other = Self.dead
      other[name] = value
      #expect(round(other) != one, "\(name)")
    }
  }

  @Test func `a delivery to all endpoints has no round`() {
    let message = again(DeadMessageTests.delivery(headers: ["countersign-cause": "publisher_unknown"]))
    #expect(message?.headers == ["countersign-attempt": 1])
  }

  @Test func `a delivery stays whose endpoint cannot get it, and what is no event`() {
    let gone = DeadMessageTests.delivery(headers: ["countersign-cause": "endpoint_gone", "countersign-endpoint": "e"])
    #expect(obstacle(gone) == .endpointGone)
    #expect(obstacle(DeadMessageTests.delivery(headers: Self.dead), isDisabled: true) == .endpointDisabled)
    let malformed = DeadMessage(
      .deliveries, AMQPDelivery(of: AMQPMessage(exchange: "", routingKey: "q", messageID: "evt_1", body: [0x7b])))
    #expect(obstacle(malformed) == .unreadable)
    #expect(obstacle(DeadMessageTests.delivery(id: "with.dot")) == .unreadable)
  }
}
