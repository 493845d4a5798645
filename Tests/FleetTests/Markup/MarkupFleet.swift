import AMQP
import Domain
import EventLoop
import Fleets
import Formats
import FoundationEssentials
import HTTP
import HTTPServer
import JSON
import Messaging
import Simulator
import TestSupport
import Testing

/// A fleet whose fields have markup wherever somebody else fills them in (``MarkedField``).
@LoopActor
struct MarkupFleet {
  let fleet: RunningFleet
  let receiver: WebhookReceiver

  static let life = "20000000000800"
  private static let publisher = RunningFleet.publisher

  /// What lets a fleet fail at once, and try again after the test.
  static let overrides = [
    "COUNTERSIGN_WORKER_RETRY_SCHEDULE_SECONDS": "3600", "COUNTERSIGN_WORKER_SWEEP_INTERVAL_SECONDS": "1",
    "COUNTERSIGN_NOTIFIER_RETRY_SCHEDULE_SECONDS": "0.2", "COUNTERSIGN_NOTIFIER_SWEEP_INTERVAL_SECONDS": "0.5",
  ]

  /// Writes the publishers' files, before the roles start.
  func prepare() throws {
    receiver.answers["marked"] = { _ in
      HTTPServerResponse(
        status: 500, headers: [("Content-Type", "text/html"), ("X-Markup", Markup.ascii("header"))],
        body: Array(MarkedField.answer.text.utf8))
    }
    func json(_ field: MarkedField) -> String { Markup.json(field.text) }
    try fleet.writePublisher(
      Self.publisher,
      """
      "apps": [\(RunningFleet.app)], "sandboxAccess": "nobody",
      "offers": [{"offerId": \(json(.offer)), "displayName": \(json(.offerName)), "tags": [\(Markup.json(Markup.text("tag")))],
        "productIds": ["com.example.app.monthly", \(json(.product))]}],
      "webhooks": [{"id": "main", "url": "\(fleet.webhookURL)", "secretFile": "../webhook.secret"},
        {"id": \(json(.endpoint)), "url": "\(receiver.url("marked"))", "secretFile": "../webhook.secret"}]
      """)
    try fleet.writePublisher(
      RunningFleet.openPublisher,
      """
      "customers": "open", "offers": \(RunningFleet.offers),
      "apps": [{"bundleId": "com.example.third", "appAppleId": 5, "issuerId": "issuer", "keyId": \(json(.keyId)),
        "privateKeyFile": "../simulator/AuthKey_KEY1.p8"}]
      """)
    let broken = RunningFleet.publisherText(1009, "\"customers\": \(Markup.json(Markup.text("mistake")))")
    try Data(broken.utf8).write(to: URL(filePath: "\(fleet.folder)/publishers/\(MarkedField.file.text)"))
  }

  private func ask(
    _ method: String, _ path: String, _ body: String, _ headers: [(name: String, value: String)] = []
  ) async throws -> HTTPClientResponse {
    try await fleet.send(method, fleet.url(path), fleet.headers(Self.publisher) + headers, body)
  }

  private func registered(_ transaction: String, _ customer: String, _ id: String) async throws -> Int {
    let body = #"{"customerId": \#(Markup.json(customer)), "transactionId": "\#(transaction)"}"#
    return try await ask("POST", "/storekit2/purchases", body, [("Correlation-Id", id)]).status
  }

  // MARK: Customers, publishers and Apple

  /// Lets a customer with markup buy what has markup, and Apple and the publisher tell about it.
  func live() async throws {
    let email = #"{"email": \#(Markup.json(MarkedField.email.text))}"#
    #expect(try await fleet.putCustomer(MarkedField.customer.text, email).status == 201)
    try await fleet.postNotifications()
    try await fleet.begin(
      lives: [
        #"{"originalTransactionId": "\#(Self.life)", "product": \#(Markup.json(MarkedField.product.text)), "#
          + #""periodSeconds": 86400, "offerType": 2, "offerIdentifier": \#(Markup.json(MarkedField.appleOffer.text))}"#
      ])
    #expect(
      try await registered(Self.life, MarkedField.customer.text, MarkedField.correlation.text) == 202)
    _ = try await fleet.finished([MarkedField.correlation.text])
    #expect(try await fleet.act("request-refund", on: Self.life))
    for type in ["MARKED", "ASIDE"] {
      let signed = try await fleet.minted("notification/\(Self.life)?type=\(type)")
      #expect(try await ask("POST", "/apple/notifications", #"{"signedPayload": "\#(signed)"}"#).status == 200)
    }
    try await eventually("the notifications are applied, and Apple asks about the refund") {
      let open = try await fleet.count("notifications WHERE applied_at IS NULL")
      return try await fleet.count("refund_requests") == 1 && open == 0
    }
    // What Apple may sign and say, and the simulator does not.
    try await fleet.execute(
      "UPDATE refund_requests SET reason = \(Markup.sql(MarkedField.refundReason.text)), "
        + "last_error = \(Markup.sql(MarkedField.refundError.text))")
    try await fleet.execute(
      "UPDATE notifications SET type = \(Markup.sql(MarkedField.notification.text)), "
        + "subtype = \(Markup.sql(MarkedField.subtype.text)) WHERE type = 'MARKED'")
    try await fleet.execute(
      "UPDATE notifications SET applied_at = NULL, due_at = NULL, put_aside_at = now(), "
        + "put_aside_reason = \(Markup.sql(MarkedField.asideReason.text)) WHERE type = 'ASIDE'")
  }

  /// Lets the publisher make endpoints, a grant, a consent and an import.
  func manage() async throws {
    let url = receiver.url("named") + MarkedField.endpointURL.text
    for member in [#","name": \#(Markup.json(MarkedField.endpointName.text))"#, #","name": "off""#] {
      let body = #"{"url": "\#(url)", "topics": ["inappPurchaseSyncResult"]\#(member)}"#
      let made = try await ask("POST", "/3.1/webhook_endpoints", body)
      #expect(made.status == 201, "\(String(decoding: made.body, as: UTF8.self))")
    }
    try await fleet.execute(
      """
      INSERT INTO webhook_health (publisher_id, endpoint_id, disabled_at, disabled_reason)
      SELECT publisher_id, id, now(), 'gone' FROM webhook_endpoints WHERE name = 'off'
      """)
    let until = rfc3339(milliseconds: unixMilliseconds() + 86_400_000)
    let note = Markup.json(MarkedField.grantNote.text)
    let customer = "/customers/\(PercentCoding.encoded(MarkedField.customer.text))"
    func grant(_ reason: String) -> String {
      #"{"offerId": \#(Markup.json(MarkedField.offer.text)), "reason": \#(reason), "expiresAt": "\#(until)", "note": \#(note)}"#
    }
    #expect(try await ask("POST", "\(customer)/grants", grant("\"goodwill\"")).status == 201)
    // A reason is one of three words.
    #expect(try await ask("POST", "\(customer)/grants", grant(Markup.json(Markup.text("reason")))).status == 400)
    let consent =
      #"{"consented": true, "textVersion": \#(Markup.json(Markup.ascii("version"))), "time": "2026-01-01T00:00:00Z"}"#
    #expect(try await ask("PUT", "\(customer)/consent", consent).status == 200)

    struct Import: Decodable { let importId: String }
    let new = try await ask("POST", "/imports", #"{"from": "plain"}"#)
    let id = try JSONDecoder().decode(Import.self, from: Data(new.body)).importId
    let row = "\"\(Markup.text("row").replacing("\"", with: "\"\""))\",\(Markup.ascii("row").dropFirst(2)),x"
    let file = "customer_id,transaction_id,offer\n\(row)\n"
    #expect(try await ask("POST", "/imports/\(id)/file?offset=0", file).status == 200)
    #expect(try await ask("POST", "/imports/\(id)/check", "").status == 200)
    try await eventually("the import is checked") {
      try await fleet.texts("SELECT state AS text FROM imports") == ["checked"]
    }
    try await fleet.execute("UPDATE imports SET state = 'failed', cause = \(Markup.sql(MarkedField.importCause.text))")
  }

  /// Puts messages into the queues of the dead. What is in a message may come from anywhere.
  func bury() async throws {
    var job = JobMessage.message(
      Job(
        synchronizationId: SynchronizationId(Markup.ascii("deadJob")), publisherId: Self.publisher,
        customerId: CustomerId(MarkedField.deadCustomer.text), transactionId: "1000000000042",
        registeredAt: 1_700_000_000_000), attempt: 51, queue: fleet.topology.deadJobs)
    let reason = AMQPValue.string(MarkedField.deadReason.text)
    job.headers["countersign-reason"] = reason
    let unreadable = AMQPMessage(
      exchange: "", routingKey: fleet.topology.deadJobs, messageID: Markup.text("unreadable"),
      headers: ["countersign-reason": reason], body: Array(Markup.text("body").utf8))
    let customer = Markup.json(MarkedField.deadCustomer.text)
    let delivery = AMQPMessage(
      exchange: "", routingKey: fleet.topology.deadDeliveries, messageID: MarkedField.deadId.text,
      type: MarkedField.deadTopic.text,
      headers: ["countersign-reason": reason, "countersign-endpoint": .string(MarkedField.deadEndpoint.text)],
      body: Array(#"{"broadcasterId": \#(Self.publisher), "data": {"customerId": \#(customer)}}"#.utf8))
    try await fleet.send([job, unreadable, delivery])
  }

  /// Lets a registration wait, as Apple fails from now on.
  func wait() async throws {
    fleet.simulator.weather = .failing
    #expect(try await registered("1000000000055", MarkedField.customer.text, MarkedField.waiting.text) == 202)
    try await eventually("it waits") {
      try await fleet.command(["jobs", "list", "--cause", "apple_error"]).contains("\"matching\":1}")
    }
  }
}
