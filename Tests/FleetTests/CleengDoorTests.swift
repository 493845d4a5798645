import AMQP
import Domain
import EventLoop
import Fleets
import Formats
import HTTP
import JSON
import Messaging
import Postgres
import ServerSupport
import Simulator
import TestSupport
import Testing

/// Cleeng's StoreKit 1 contract at a whole fleet.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct CleengDoorTests {
  private static let roles = ["gateway-1", "worker-1"]

  @Test func `a payment gives access, and another customer's payment moves it`() async throws {
    try await CleengClient.with(Self.roles) { client in
      let receipt = try client.fleet.simulator.receipt(["1000000000001"])
      let accepted = try await client.pay("a@example.com", receipt, more: #""couponCode":"SUMMER","#)
      #expect(accepted.status == 200)
      #expect(String(decoding: accepted.body, as: UTF8.self) == #"{"errors":[],"responseData":{"success":true}}"#)
      try await eventually("the app has access") { try await client.access(of: 7) == true }
      let first = try await client.events.wait(for: 2)
      #expect(first.map(\.topic) == ["subscriptionCreated", "inappPurchaseValidationSucceeded"])
      #expect(first.map { $0.data.text("couponCode") } == ["SUMMER", "SUMMER"])
      #expect(first[1].data.text("result") == "SubscriptionCreated")
      let begun = try #require(first[0].data.number("subscriptionId"))

      // The same receipt again, with the customer's own token and an invalid coupon.
      let again = try await client.pay(
        "A@EXAMPLE.COM", receipt, more: #""appType":"tvos","couponCode":"WINTER","#, headers: client.bearer(7))
      #expect(again.status == 200)
      let second = try await client.events.wait(for: 3)[2]
      #expect(second.data.text("result") == "SubscriptionSynchronized")
      #expect(second.data.number("subscriptionId") == begun && second.data.text("couponCode") == "SUMMER")

      #expect(try await client.pay("b@example.com", receipt).status == 200)
      let moved = Array(try await client.events.wait(for: 6)[3...])
      #expect(
        moved.map(\.topic) == [
          "subscriptionTerminated", "subscriptionCreated", "inappPurchaseValidationSucceeded",
        ])
      #expect(moved.map { $0.data.number("customerId") } == [7, 8, 8])
      #expect(moved[0].data.number("subscriptionId") == begun)
      #expect(moved[1].data.number("prevSubscriptionId") == begun)
      #expect(moved[2].data.text("result") == "SubscriptionTransferred")
      #expect(moved[2].data.number("prevCustomerId") == 7)
      // Who has seen the event reads the access.
      #expect(try await client.access(of: 7) == false)
      #expect(try await client.access(of: 8) == true)
      #expect(try await client.publishersView(of: 8) == true)
      #expect(try await client.tags(of: 7) == [])
      #expect(try await client.tags(of: 8) == ["sport", "video"])
      #expect(try await client.fleet.ledgerDifferences() == [])
    }
  }

  @Test func `a payment that gives no access tells why`() async throws {
    let transactions: [(prefix: String, offer: String, result: String)] = [
      ("101", "S1", "PurchaseExpired"), ("102", "S1", "PurchaseRevoked"), ("120", "S1", "TransactionNotFound"),
      ("100", "S2", "OfferMismatch"), ("100", "none", "OfferNotFound"), ("141", "S1", "ReceiptNotValid"),
      ("143", "S1", "ReceiptOfAnotherApp"), ("140", "S1", "ReceiptNotValid"),
    ]
    try await CleengClient.with(Self.roles) { client in
      for (number, payment) in transactions.enumerated() {
        let id = "\(payment.prefix)000000010\(number)"
        let receipt = try client.fleet.simulator.receipt([id])
        let answer = try await client.pay("a@example.com", receipt, offer: payment.offer, transaction: id)
        #expect(answer.status == 200)
        let event = try await client.events.wait(for: number + 1)[number]
        #expect(event.topic == "inappPurchaseValidationFailed")
        #expect(event.data.text("result") == payment.result, "\(id)")
        #expect(event.data.text("offerId") == payment.offer)
        #expect(event.data.number("customerId") == 7)
      }
      let receipt = try client.fleet.simulator.receipt(["1000000000201"])
      #expect(try await client.pay("a@example.com", receipt, transaction: "1").status == 200)
      #expect(try await client.pay("a@example.com", receipt, offer: "P1").status == 200)
      #expect(try await client.pay("nobody@example.com", receipt).status == 200)
      let told = try await client.events.wait(for: transactions.count + 3)[transactions.count...]
      #expect(
        told.map { $0.data.text("result") } == ["TransactionNotInReceipt", "OfferMismatch", "CustomerNotFound"])
      #expect(try await client.access(of: 7) == false)
      // Nobody owns the purchase that did not fit.
      #expect(
        try await client.count(
          "SELECT count(*) FROM purchases WHERE original_transaction_id = '1000000000103' AND customer_id IS NOT NULL")
          == 0)
    }
  }

  @Test func `a payment may name the original transaction of a renewal`() async throws {
    try await CleengClient.with(Self.roles) { client in
      // The subscription began with 105…, and the receipt lists its upgrade 1059… only.
      let receipt = try await client.fleet.minted("receipt/1050000000601?latest=true")
      for id in ["1050000000601", "10590000000601"] {
        #expect(try await client.pay("a@example.com", receipt, offer: "S2", transaction: id).status == 200)
      }
      let told = try await client.events.wait(for: 3)
      #expect(
        told.map { $0.data.text("result") } == [nil, "SubscriptionCreated", "SubscriptionSynchronized"])
      #expect(try await client.pay("a@example.com", receipt, offer: "S2", transaction: "1").status == 200)
      #expect(try await client.events.wait(for: 4)[3].data.text("result") == "TransactionNotInReceipt")
    }
  }

  @Test func `an open publisher's customers are made from their addresses`() async throws {
    let app = RunningFleet.releasedApp.replacing(
      "{\"bundleId\"", with: "{\"environments\": [\"Production\"], \"bundleId\"")
    let publisher = """
      "customers": "open", "apps": [\(app)], "offers": \(RunningFleet.offers),
      "doors": {"cleeng": {"enabled": true, "customerPrefix": "sk1:", "ownership": {"restore": "refuse"}}}
      """
    let prepare: @LoopActor (RunningFleet) throws -> Void = { try $0.writePublisher(1004, publisher) }
    try await CleengClient.with(Self.roles, prepare: prepare) { client in
      let headers = [("X-Publisher-Token", "token-1004"), ("Content-Type", "application/json")]
      let receipt = try client.fleet.simulator.receipt(["1000000000301"])
      #expect(try await client.pay("New@Example.com", receipt, headers: headers).status == 200)
      let created = try await client.events.wait(for: 2)
      #expect(created.map { $0.data.text("customerId") } == ["sk1:new@example.com", "sk1:new@example.com"])
      // This publisher moves no purchase.
      #expect(try await client.pay("other@example.com", receipt, headers: headers).status == 200)
      let refused = try await client.events.wait(for: 3)[2]
      #expect(refused.data.text("result") == "PurchaseOwnedByAnotherCustomer")
      // Its app is not accepted in the sandbox.
      let sandbox = try client.fleet.simulator.receipt(["1210000000301"])
      #expect(try await client.pay("new@example.com", sandbox, headers: headers).status == 200)
      let other = try await client.events.wait(for: 4)[3]
      #expect(other.data.text("result") == "EnvironmentNotAccepted")
    }
  }

  @Test func `a bad request gets an error, and leaves nothing`() async throws {
    try await CleengClient.with(Self.roles) { client in
      let (fleet, good) = (client.fleet, try client.fleet.simulator.receipt(["1000000000401"]))
      let signed = try fleet.simulator.signedTransaction("1000000000401")
      let before = try await client.traces()
      func check(
        _ answer: HTTPClientResponse, _ status: Int, _ code: String, _ line: Int = #line
      ) throws {
        let body: JSONValue = try JSONText(answer.body).decoded()
        #expect(answer.status == status && body.text("code") == code, "line \(line): \(answer.status) \(body)")
        #expect(answer.header("content-type") == "application/problem+json")
        if case .object(let members) = body { #expect(members["errors"] == .array([.string(body.text("message")!)])) }
      }
      for text in ["", "no receipt", "TUlJVA==", signed] {
        try check(try await client.pay("a@example.com", text), 400, "REQ0001")
      }
      let old = try await client.pay("a@example.com", RunningFleet.transactionReceipt)
      try check(old, 400, "REQ0001")
      #expect(String(decoding: old.body, as: UTF8.self).contains("transaction receipt of iOS 6"))
      try check(try await client.pay("nobody", good), 400, "REQ0001")
      try check(try await client.pay("a@example.com", good, offer: ""), 400, "REQ0001")
      try check(try await client.pay("a@example.com", good, transaction: "abc"), 400, "REQ0001")
      try check(try await client.pay("a@example.com", good, more: #""appType":"roku","#), 400, "REQ0001")
      // A customer's token needs the device, and acts for its own customer.
      try check(try await client.pay("a@example.com", good, headers: client.bearer(7)), 400, "REQ0001")
      let others = try await client.pay(
        "b@example.com", good, more: #""appType":"ios","#, headers: client.bearer(7))
      try check(others, 400, "REQ0001")
      let json = ("Content-Type", "application/json")
      try check(try await client.pay("a@example.com", good, headers: [json]), 401, "AUTH0001")
      try check(
        try await client.pay("a@example.com", good, headers: [("X-Publisher-Token", "no"), json]), 401, "AUTH0002")
      let both = client.bearer(7) + [("X-Publisher-Token", RunningFleet.tokens[RunningFleet.publisher]!)]
      try check(try await client.pay("a@example.com", good, headers: both), 400, "REQ0004")
      let text = [("X-Publisher-Token", RunningFleet.tokens[RunningFleet.publisher]!), ("Content-Type", "text/plain")]
      try check(try await client.pay("a@example.com", good, headers: text), 415, "REQ0415")
      let closed = fleet.headers(RunningFleet.openPublisher)
      try check(try await client.pay("a@example.com", good, headers: closed), 404, "REQ0100")
      let huge = String(repeating: "A", count: 4 << 20)
      try check(try await client.pay("a@example.com", huge), 413, "REQ0413")
      let path = "/3.1/entitlements/customer_id/7/offer_id/S1"
      try check(
        try await fleet.send("GET", fleet.url("/entitlements/S1"), fleet.headers(RunningFleet.publisher)), 403,
        "AUTH0003")
      try check(try await fleet.send("GET", fleet.url("/entitlements/S1")), 401, "AUTH0001")
      try check(try await fleet.send("GET", fleet.url(path), client.bearer(7)), 403, "AUTH0003")
      try check(try await fleet.send("GET", fleet.url(path), closed), 404, "REQ0100")
      try check(
        try await fleet.send(
          "GET", fleet.url("/3.1/entitlements/customer_id/a%01/offer_id/S1"), fleet.headers(RunningFleet.publisher)),
        400, "REQ0003")
      #expect(try await client.traces() == before)
      #expect(client.events.all.isEmpty)
    }
  }

  @Test func `JSON-RPC answers each mistake with its code`() async throws {
    try await CleengClient.with(["gateway-1"]) { client in
      let (publisher, customer) = (
        RunningFleet.tokens[RunningFleet.publisher]!, jwt(customer: 7, publisher: RunningFleet.publisher)
      )
      func code(_ publisher: String, _ customer: String) async throws -> Int64? {
        try await client.call(publisher, customer).error
      }
      #expect(try await code(publisher, customer) == nil)
      #expect(try await code("no", customer) == 3)
      #expect(try await code(publisher, "no") == 1)
      #expect(try await code(RunningFleet.tokens[RunningFleet.openPublisher]!, customer) == 5)
      for path in ["/3.1/json-rpc", "/3.0/json-rpc"] {
        let other = try await client.fleet.send(
          "POST", client.fleet.url(path), [], #"{"method":"getOffers","params":{},"id":"x"}"#)
        #expect(other.status == 200)
        #expect(
          String(decoding: other.body, as: UTF8.self)
            == #"{"result":null,"id":"x","error":{"code":-32601,"message":"Method not found"},"jsonrpc":"2.0"}"#)
      }
    }
  }
}

/// A middleware and an app that speak Cleeng's contract.
@LoopActor
struct CleengClient {
  /// An event, as a subscriber got it.
  struct Event: Sendable {
    let topic: String
    let data: JSONValue
  }

  let fleet: RunningFleet
  /// The events of Cleeng's topics, in the order of their publication.
  let events = Mailbox<Event>(of: "events of Cleeng's topics")

  private static let topics = [
    "inappPurchaseValidationSucceeded", "inappPurchaseValidationFailed", "subscriptionCreated",
    "subscriptionTerminated",
  ]

  /// Runs a fleet with two customers: 7 has a@example.com, and 8 has b@example.com.
  static func with(
    _ roles: [String], prepare: @LoopActor (RunningFleet) throws -> Void = { _ in },
    _ body: @LoopActor (CleengClient) async throws -> Void
  ) async throws {
    try await RunningFleet.with(roles, prepare: prepare) { fleet in
      let client = CleengClient(fleet: fleet)
      _ = try await fleet.putCustomer("7", #"{"email":"a@example.com"}"#)
      _ = try await fleet.putCustomer("8", #"{"email":"b@example.com"}"#)
      let (topology, queue) = (fleet.topology, fleet.prefix + ".cleeng")
      let subscriber = AMQPConsumer(
        { TestServers.current!.rabbitmq }, name: "cleeng", queue: queue, prefetch: 100, onChange: { _ in },
        declare: { channel in
          try await channel.declareQueue(queue, arguments: ["x-expires": 60_000])
          for topic in topics { try await channel.bindQueue(queue, to: topology.events, routingKey: topic + ".*") }
        },
        handler: { client.receive($0) })
      subscriber.start()
      do {
        try await eventually("the subscriber is ready") { subscriber.isReady }
        try await body(client)
      } catch {
        await subscriber.stop()
        throw error
      }
      await subscriber.stop()
    }
  }

  private func receive(_ received: AMQPConsumer.Received) {
    received.acknowledge()
    guard let body = try? JSONText(received.delivery.body).decoded(as: JSONValue.self),
      case .object(let envelope) = body, let topic = body.text("topic"), let data = envelope["data"]
    else { return }
    events.put(Event(topic: topic, data: data))
  }

  // MARK: Requests

  /// The header of a customer's token, with a JSON body.
  func bearer(_ customer: Int64) -> [(name: String, value: String)] {
    [
      ("Authorization", "Bearer \(jwt(customer: customer, publisher: RunningFleet.publisher))"),
      ("Content-Type", "application/json"),
    ]
  }

  /// Sends a payment.
  ///
  /// - Parameter more: further members, each with a comma behind it.
  func pay(
    _ email: String, _ receipt: String, offer: String = "S1", transaction: String? = nil, more: String = "",
    headers: [(name: String, value: String)]? = nil
  ) async throws -> HTTPClientResponse {
    let id = transaction.map { #""transactionId":"\#($0)","# } ?? ""
    let body = #"""
      {"customerEmail":"\#(email)","offerId":"\#(offer)",\#(more)"receipt":{\#(id)"receiptData":"\#(receipt)"}}
      """#
    return try await fleet.send(
      "POST", fleet.url("/apple/payment"), headers ?? fleet.headers(RunningFleet.publisher), body)
  }

  /// Whether a customer may use the offer S1, asked with the customer's own token.
  func access(of customer: Int64) async throws -> Bool? {
    let answer = try await fleet.send("GET", fleet.url("/entitlements/S1"), bearer(customer))
    let body: JSONValue = try JSONText(answer.body).decoded()
    guard answer.status == 200, case .object(let members) = body, case .object(let data) = members["responseData"],
      case .bool(let isGranted) = data["accessGranted"], members["accessGranted"] == .bool(isGranted)
    else { return nil }
    return isGranted
  }

  /// The same, asked with the publisher's token.
  func publishersView(of customer: Int64) async throws -> Bool? {
    let path = "/3.1/entitlements/customer_id/\(customer)/offer_id/S1"
    let answer = try await fleet.send("GET", fleet.url(path), fleet.headers(RunningFleet.publisher))
    guard case .object(let members) = try JSONText(answer.body).decoded(as: JSONValue.self),
      case .bool(let isGranted) = members["accessGranted"]
    else { return nil }
    return isGranted
  }

  /// The result of `getAccessibleTags`.
  func call(_ publisher: String, _ customer: String) async throws -> (tags: [String]?, error: Int64?) {
    let body = #"""
      {"method":"getAccessibleTags","params":{"publisherToken":"\#(publisher)","customerToken":"\#(customer)"},
       "jsonrpc":"2.0","id":1}
      """#
    let answer = try await fleet.send("POST", fleet.url("/3.1/json-rpc"), [], body)
    guard case .object(let members) = try JSONText(answer.body).decoded(as: JSONValue.self) else { return (nil, nil) }
    guard case .object(let result) = members["result"], case .array(let tags) = result["tags"] else {
      return (nil, members["error"]?.number("code"))
    }
    return (tags.map { if case .string(let tag) = $0 { tag } else { "" } }, nil)
  }

  /// The tags that a customer may use.
  func tags(of customer: Int64) async throws -> [String]? {
    let token = jwt(customer: customer, publisher: RunningFleet.publisher)
    return try await call(RunningFleet.tokens[RunningFleet.publisher]!, token).tags
  }

  // MARK: The ledger

  /// The number of rows that payments leave.
  func traces() async throws -> [Int64] {
    var counts: [Int64] = []
    for table in ["purchases", "ownerships", "synchronizations", "events", "evidence"] {
      counts.append(try await count("SELECT count(*) FROM \(table)"))
    }
    return counts
  }

  /// Counts rows of the fleet's ledger.
  func count(_ sql: String) async throws -> Int64 {
    let url = TestServers.current!.ledgerURL(database: fleet.database)
    let client = PostgresClient(try PostgresEndpoint(url: url, password: nil, caFile: nil), connections: 1)
    client.start()
    do {
      try await eventually("the test reaches the ledger") { client.isReady }
      let rows = try await client.run(PostgresQuery(PostgresStatement("count", sql), []))
      await client.stop()
      return rows.first?.int64(0) ?? -1
    } catch {
      await client.stop()
      throw error
    }
  }
}
