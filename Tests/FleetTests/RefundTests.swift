import AMQP
import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import Messaging
import ServerSupport
import Simulator
import TestSupport
import Testing

/// A customer wants the money back, and Apple asks about the consumption, in a whole fleet.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct RefundTests {
  private static let life = "20000000000900"

  // MARK: What is told

  /// A request for a refund, as an event or an answer tells it.
  private struct Told: Decodable {
    let refundRequestId: String
    let transactionId: String
    let deadline: String
    let reason: String?
    let customerId: String?
    let answering: Bool?
    let state: String?
    let answeredBy: String?
    let consent: Consent?

    struct Consent: Decodable { let textVersion: String }
  }

  private struct Envelope: Decodable {
    let topic: String
    let data: Told
  }

  /// What the simulator has received about the life.
  private struct Received: Decodable {
    let refundRequests: [Request]

    struct Request: Decodable {
      let requestedAt: Int64
      let answers: [Answer]
    }
    struct Answer: Decodable {
      let version: Int
      let inTime: Bool
      let body: Body
    }
    struct Body: Decodable {
      let customerConsented: Bool
      let deliveryStatus: String
      let refundPreference: String?
    }
  }

  private func answers(_ fleet: RunningFleet) async throws -> [Received.Answer] {
    let answer = await fleet.simulator.control("GET", "/simulator/lives/\(Self.life)")
    return try JSONDecoder().decode(Received.self, from: Data(answer.body)).refundRequests.flatMap(\.answers)
  }

  /// The events of the webhook endpoint.
  private func webhooks(_ fleet: RunningFleet) -> [Told] {
    fleet.webhooks.all.filter(\.isVerified).compactMap {
      try? JSONDecoder().decode(Envelope.self, from: Data($0.body))
    }.filter { $0.topic == "refundRequested" }.map(\.data)
  }

  private func put(_ fleet: RunningFleet, _ path: String, _ body: String) async throws -> Int {
    try await fleet.send("PUT", fleet.url(path), fleet.headers(RunningFleet.publisher), body).status
  }

  private func request(_ fleet: RunningFleet, _ id: String) async throws -> Told {
    let answer = try await fleet.send(
      "GET", fleet.url("/refund-requests/\(id)"), fleet.headers(RunningFleet.publisher))
    return try JSONDecoder().decode(Told.self, from: Data(answer.body))
  }

  private func listed(_ fleet: RunningFleet, _ query: String = "") async throws -> [Told] {
    struct Page: Decodable { let refundRequests: [Told] }
    let answer = try await fleet.send(
      "GET", fleet.url("/refund-requests\(query)"), fleet.headers(RunningFleet.publisher))
    return try JSONDecoder().decode(Page.self, from: Data(answer.body)).refundRequests
  }

  private func consent(_ fleet: RunningFleet, _ isGiven: Bool, at time: String) async throws {
    let body = "{\"consented\": \(isGiven), \"textVersion\": \"2026-01\", \"time\": \"\(time)\"}"
    #expect(try await put(fleet, "/customers/9/consent", body) == 200)
  }

  // MARK: The fleet

  private static func write(_ fleet: RunningFleet) throws {
    try fleet.writePublisher(
      RunningFleet.publisher,
      """
      "apps": [\(RunningFleet.releasedApp)], "sandboxAccess": "everybody",
      "offers": [{"offerId": "S1", "productIds": ["com.example.app.monthly"],
        "consumption": {"answer": "fromFacts", "refundPreference": "DECLINE"}}],
      "webhooks": [{"id": "main", "url": "\(fleet.webhookURL)", "secretFile": "../webhook.secret",
        "topics": ["refundRequested"]}]
      """)
  }

  /// A worker leaves a refund request to others if it has not ended it in twice this time and 15 seconds. Only a worker
  /// that dies gets so little: a slow call is made again, and the simulator notes both.
  private static let shortLease = ["COUNTERSIGN_APP_STORE_TIMEOUT_SECONDS": "2"]

  /// A fleet whose first publisher answers from facts, with a purchase of customer 9.
  private func with(
    _ roles: [String] = ["gateway-1", "worker-1", "notifier-1"], overrides: [String: String] = [:],
    _ body: @LoopActor (RunningFleet) async throws -> Void
  ) async throws {
    try await RunningFleet.with(roles, overrides: overrides, hasDoors: false, prepare: Self.write) { fleet in
      try await fleet.postNotifications()
      _ = try await fleet.putCustomer(9)
      try await fleet.begin(lives: ["{\"originalTransactionId\": \"\(Self.life)\", \"periodSeconds\": 3600}"])
      #expect(try await fleet.register(Self.life, customer: 9, id: "s-refund").status == 202)
      try await eventually("the purchase is owned") { try await fleet.told(Self.life)?.customerId == "9" }
      try await body(fleet)
    }
  }

  /// Lets the customer ask, and waits for the webhook.
  private func ask(_ fleet: RunningFleet) async throws -> Told {
    #expect(try await fleet.act("request-refund", on: Self.life, #"{"reason": "FULFILLMENT_ISSUE"}"#))
    try await eventually("the publisher is told") { !webhooks(fleet).isEmpty }
    return webhooks(fleet)[0]
  }

  // MARK: Tests

  @Test func `with a policy and a consent Apple is answered at once`() async throws {
    try await with { fleet in
      try await consent(fleet, true, at: "2026-01-01T00:00:00Z")
      let told = try await ask(fleet)
      #expect(told.answering == true && told.customerId == "9" && told.reason == "FULFILLMENT_ISSUE")
      try await eventually("Apple has the answer") {
        try await request(fleet, told.refundRequestId).state == "answered"
      }
      let received = try await answers(fleet)
      #expect(received.count == 1 && received[0].version == 2 && received[0].inTime)
      #expect(received[0].body.customerConsented && received[0].body.deliveryStatus == "DELIVERED")
      #expect(received[0].body.refundPreference == "DECLINE")
      let kept = try await request(fleet, told.refundRequestId)
      #expect(kept.answeredBy == "policy" && kept.consent?.textVersion == "2026-01")
      #expect(try await listed(fleet).isEmpty)
      #expect(try await listed(fleet, "?state=answered").map(\.refundRequestId) == [told.refundRequestId])
      #expect(
        try await fleet.metric("worker-1", "countersign_refund_requests_ended_total{outcome=\"answered\"}") == 1)
    }
  }

  @Test func `without a consent the publisher is asked, and its answer is sent once`() async throws {
    try await with { fleet in
      let subscriber = Subscriber(fleet)
      try await subscriber.bound()
      try await consent(fleet, true, at: "2026-01-01T00:00:00Z")
      try await consent(fleet, false, at: "2026-01-02T00:00:00Z")
      let told = try await ask(fleet)
      #expect(told.answering == false && told.deadline > "2026")
      let events = try await subscriber.events.wait(for: 1)
      #expect(try JSONDecoder().decode(Envelope.self, from: Data(events[0])).data.deadline == told.deadline)
      #expect(try await listed(fleet).map(\.refundRequestId) == [told.refundRequestId])
      #expect(try await answers(fleet).isEmpty)

      let path = "/refund-requests/\(told.refundRequestId)"
      func answer(_ more: String) -> String {
        "{\"customerConsented\": true, \"deliveryStatus\": \"DELIVERED\", \"sampleContentProvided\": false\(more)}"
      }
      #expect(try await put(fleet, path, answer(", \"consumptionPercentage\": 5000")) == 400)
      #expect(try await put(fleet, path, answer(", \"refundPreference\": \"GRANT_PRORATED\"")) == 200)
      #expect(try await put(fleet, path, answer(", \"refundPreference\": \"GRANT_PRORATED\"")) == 200)
      try await eventually("Apple has the answer") {
        try await request(fleet, told.refundRequestId).state == "answered"
      }
      #expect(try await put(fleet, path, answer(", \"refundPreference\": \"GRANT_PRORATED\"")) == 200)
      #expect(try await put(fleet, path, answer("")) == 409)
      #expect(try await put(fleet, path, "{\"answer\": \"none\"}") == 409)
      let received = try await answers(fleet)
      #expect(received.map(\.body.refundPreference) == ["GRANT_PRORATED"])
      #expect(try await request(fleet, told.refundRequestId).answeredBy == "publisher")
      await subscriber.stop()
    }
  }

  @Test func `a repeated question tells nothing, and a consent that comes later answers`() async throws {
    try await with { fleet in
      let told = try await ask(fleet)
      #expect(told.answering == false)
      let before = try await fleet.appliedNotifications()
      #expect(try await fleet.act("request-refund", on: Self.life, #"{"reason": "LEGAL"}"#))
      try await eventually("the repeat is applied") { try await fleet.appliedNotifications() > before }
      #expect(try await listed(fleet).map(\.refundRequestId) == [told.refundRequestId])
      try await consent(fleet, true, at: "2026-01-01T00:00:00Z")
      try await eventually("Apple has the answer") {
        try await request(fleet, told.refundRequestId).state == "answered"
      }
      #expect(try await request(fleet, told.refundRequestId).answeredBy == "policy")
      // Two publishers have the app, and each has one request.
      #expect(try await fleet.count("refund_requests") == 2)
      #expect(webhooks(fleet).count == 1)
    }
  }

  @Test func `who withdraws the consent while Apple fails lets the publisher be asked after all`() async throws {
    try await with { fleet in
      try await consent(fleet, true, at: "2026-01-01T00:00:00Z")
      fleet.simulator.weather = .failing
      let told = try await ask(fleet)
      #expect(told.answering == true)
      // From now on nothing else may be sent: the ledger says so before the first call.
      #expect(try await put(fleet, "/refund-requests/\(told.refundRequestId)", #"{"answer": "none"}"#) == 409)
      try await consent(fleet, false, at: "2026-01-02T00:00:00Z")
      try await eventually("the publisher is asked after all") { webhooks(fleet).count == 2 }
      let again = webhooks(fleet)[1]
      #expect(again.refundRequestId == told.refundRequestId && again.answering == false)
      #expect(again.deadline == told.deadline)
      #expect(try await request(fleet, told.refundRequestId).state == "open")
      fleet.simulator.weather = .fair
      // The simulator notes each call, even if it answers with a failure.
      let calls = try await answers(fleet).count
      #expect(try await put(fleet, "/refund-requests/\(told.refundRequestId)", #"{"answer": "none"}"#) == 200)
      #expect(try await request(fleet, told.refundRequestId).state == "withheld")
      #expect(try await answers(fleet).count == calls)
    }
  }

  @Test func `a decision in the future is refused`() async throws {
    try await with { (fleet) async throws in
      let body = #"{"consented": true, "textVersion": "1", "time": "2999-01-01T00:00:00Z"}"#
      #expect(try await put(fleet, "/customers/9/consent", body) == 409)
    }
  }

  @Test(arguments: [false, true])
  func `a worker that dies between the commit and the call leaves the answer to another one`(
    isConsentLate: Bool
  ) async throws {
    try await with(["gateway-1", "notifier-1", "worker-9"]) { fleet in
      if !isConsentLate { try await consent(fleet, true, at: "2026-01-01T00:00:00Z") }
      await fleet.kill("worker-9")
      try fleet.start(
        "worker-1", with: ["COUNTERSIGN_TEST_CRASH_BEFORE_ANSWER": Self.life].merging(Self.shortLease) { $1 })
      try await fleet.ready("worker-1")
      #expect(try await fleet.act("request-refund", on: Self.life))
      if isConsentLate {
        try await eventually("the publisher is asked") { try await listed(fleet).map(\.state) == ["open"] }
        try await consent(fleet, true, at: "2026-01-01T00:00:00Z")
      }
      try await eventually("the worker is dead") { fleet.roles["worker-1"]?.process.status != nil }
      #expect(try await answers(fleet).isEmpty)
      #expect(try await listed(fleet, "?state=sending").count == 1)
      try fleet.start("worker-2")
      try await eventually("another worker has answered") { try await listed(fleet, "?state=answered").count == 1 }
      #expect(try await answers(fleet).count == 1)
      // Two publishers have the app, and each has one request.
      #expect(try await fleet.count("refund_requests") == 2)
    }
  }

  @Test func `a refund request that kills its workers is held back`() async throws {
    try await with(overrides: Self.shortLease) { fleet in
      try await consent(fleet, true, at: "2026-01-01T00:00:00Z")
      await fleet.kill("worker-1")
      #expect(try await fleet.act("request-refund", on: Self.life))
      try await fleet.untilHeldBack(
        "refund", by: "COUNTERSIGN_TEST_CRASH_BEFORE_ANSWER", of: Self.life,
        // Only the first publisher's file says what Apple gets.
        hurry: "UPDATE refund_requests SET due_at = now() WHERE due_at IS NOT NULL")
      #expect(try await answers(fleet).isEmpty)
    }
  }

  @Test func `while Apple fails the answer is sent again and again`() async throws {
    try await with { fleet in
      try await consent(fleet, true, at: "2026-01-01T00:00:00Z")
      fleet.simulator.weather = .failing
      let told = try await ask(fleet)
      try await eventually("a call has failed") {
        try await fleet.metric("worker-1", "countersign_refund_answer_failures_total") >= 2
      }
      #expect(try await request(fleet, told.refundRequestId).state == "sending")
      fleet.simulator.weather = .fair
      try await eventually("Apple has the answer") {
        try await request(fleet, told.refundRequestId).state == "answered"
      }
    }
  }

  /// A service's queue with the events about refunds.
  @LoopActor
  private final class Subscriber {
    let events = Mailbox<[UInt8]>(of: "events about refunds")
    private var consumer: AMQPConsumer!

    init(_ fleet: RunningFleet) {
      let (topology, queue) = (fleet.topology, fleet.prefix + ".refunds")
      consumer = AMQPConsumer(
        { TestServers.current!.rabbitmq }, name: "refunds", queue: queue, prefetch: 10, onChange: { _ in },
        declare: { channel in
          try await channel.declareQueue(queue, isExclusive: true)
          try await channel.bindQueue(queue, to: topology.events, routingKey: "refundRequested.*")
        },
        handler: { [weak self] received in
          received.acknowledge()
          self?.events.put(received.delivery.body)
        })
      consumer.start()
    }

    func bound() async throws { try await eventually("the queue is bound") { self.consumer.isReady } }

    func stop() async { await consumer.stop() }
  }
}
