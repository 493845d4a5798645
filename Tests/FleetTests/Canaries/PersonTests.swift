import AMQP
import Crypto
import Domain
import EventLoop
import Fleets
import Formats
import FoundationEssentials
import HTTP
import HTTPServer
import Messaging
import Redis
import ServerSupport
import Simulator
import TestSupport
import Testing

/// An e-mail address as a customer's id: a fleet works, refuses and fails, and no erasure reaches what it logs.
@Suite(
  .breakingServers,
  .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct PersonTests {
  private static let roles = ["gateway-1", "worker-1", "notifier-1"]

  private func work(_ person: Canary, _ fleet: RunningFleet) async throws {
    let (id, path) = (person.text, "/customers/" + PercentCoding.encoded(person.text))
    let headers = fleet.headers(RunningFleet.publisher)
    func send(_ method: String, _ path: String, _ body: String? = nil, id: String? = nil) async throws -> Int {
      let correlation = id.map { [(name: "Correlation-Id", value: $0)] } ?? []
      return try await fleet.send(method, fleet.url(path), headers + correlation, body).status
    }
    func register(_ transaction: String, _ name: String, _ suffix: String = "") async throws -> Int {
      let body = #"{"customerId":"\#(id)\#(suffix)","transactionId":"\#(transaction)"}"#
      return try await send("POST", "/storekit2/purchases", body, id: name)
    }
    #expect(try await register("1000000000001", "unknown") == 422)
    #expect(try await send("PUT", path, #"{"email":"\#(id)"}"#) == 201)
    #expect(try await send("PUT", path + "2", #"{"email":"\#(id)"}"#) == 409)
    #expect(try await register("1000000000001", "good") == 202)
    _ = try await fleet.finished(["good"])
    #expect(try await register("1000000000002", "good") == 400)
    #expect(try await register("1000000000001", "good", "x") == 400)
    fleet.simulator.weather = .failing
    #expect(try await register("1000000000003", "failing") == 202)
    #expect(try await register("1000000000003", "held") == 409)
    _ = try await fleet.finished(["failing"])
    fleet.simulator.weather = .fair
    let body = #"{"customerId":"\#(id)","transactionId":"1000000000001"}"#
    #expect(try await send("POST", "/storekit2/purchases/transfers", body, id: "move") == 202)
    _ = try await fleet.finished(["move"])

    // At the doors, users are customers.
    let receipt = try fleet.simulator.receipt(["1000000000005"])
    let basic = "Basic " + Base64.encode(Array("\(RunningFleet.iapticAppName):\(RunningFleet.iapticAPIKey)".utf8))
    let more = #""additionalData":{"applicationUsername":"\#(id)"}"#
    for text in [receipt, "AAAA"] {
      let transaction = #"{"type":"ios-appstore","id":"1000000000005","appStoreReceipt":"\#(text)"}"#
      let body = #"{"id":"com.example.app","type":"application","transaction":\#(transaction),\#(more)}"#
      _ = try await fleet.send("POST", fleet.url("/v1/validate"), [("Authorization", basic)], body)
      let payment = #"{"customerEmail":"\#(id)","offerId":"S1","receipt":{"transactionId":"1000000000005"}}"#
      _ = try await send("POST", "/apple/payment", payment)
    }
    // Records that this version does not read: in Redis, on the broker and in the ledger.
    let redis = try await RedisConnection.open(TestServers.current!.redis)
    _ = try await redis.send([
      "SET", "\(fleet.prefix):customer:\(RunningFleet.publisher):\(id)", "v9\u{1F}", "PX", "60000",
    ])
    #expect(try await register("1000000000006", "newer") == 503)
    _ = try await redis.send(["DEL", "\(fleet.prefix):customer:\(RunningFleet.publisher):\(id)"])
    redis.close()
    let broken = #"{"format":1,"customerId":"\#(id)","transactionId":"\#(id)","publisherId":1001}"#
    try await fleet.send(
      [broken, String(broken.dropLast()), #"{"format":1,"customerId":{"\#(id)":1}}"#].enumerated().map { number, body in
        AMQPMessage(
          exchange: "", routingKey: fleet.topology.jobs, messageID: "broken\(number)", body: Array(body.utf8))
      })
    try await fleet.execute("UPDATE customers SET told = 'x' WHERE id = '\(id)'")
    #expect(try await register("1000000000001", "unreadable") == 202)
    try await eventually("the row is unreadable") { !fleet.logged("\"event\":\"a commit failed\"").isEmpty }
    try await fleet.execute("UPDATE customers SET told = '[]' WHERE id = '\(id)'")
    _ = try await fleet.finished(["unreadable"])
    #expect(try await send("DELETE", path) == 200)
    #expect(try await register("1000000000001", "good") == 400)
    // The servers go away in the middle of it.
    let servers = TestServers.current!
    for server in [TestServers.Server.rabbitmq, .redis, .postgres] {
      try await servers.pause(server)
      _ = try await register("1000000000007", "paused")
      _ = try await send("PUT", path, "{}")
      try await servers.resume(server)
      for name in Self.roles { try await fleet.ready(name) }
    }
  }

  /// Bodies of messages and answers may name a customer.
  @Test func `no log, no metric and no header of a dead message names a customer`() async throws {
    let person = Canary("customer", text: "Jane.O_Doe+42@example.com")
    try await WebhookReceiver.with { receiver async throws in
      try await RunningFleet.with(Self.roles, overrides: ["COUNTERSIGN_LOG_LEVEL": "debug"]) { fleet async throws in
        let caught = CanaryCatch(fleet)
        let (jobs, deliveries) = (fleet.topology.deadJobs, fleet.topology.deadDeliveries)
        let dead = [jobs, deliveries].map { caught.follow($0) }
        // Everything that the endpoint gets comes back in its answer.
        receiver.answers["echo"] = { [receiver] number in
          HTTPServerResponse(status: 500, headers: [], body: receiver.got("echo")[number - 1].request.body)
        }
        let never = #""retryPolicy":{"enabled":false},"topics":["inappPurchaseSyncResult","entitlementsChanged"]"#
        _ = try await WebhookAPIClient(fleet: fleet).create(#""url":"\#(receiver.url("echo"))",\#(never)"#)
        try await work(person, fleet)
        try await eventually("messages are dead") { caught.texts.map(\.place).contains("headers of \(deliveries)") }
        try await eventually("jobs are dead") { caught.texts.map(\.place).contains("headers of \(jobs)") }
        try await caught.readRoles(Self.roles)
        try caught.readLogs()
        let postgres = TestServers.current!.logFile(of: .postgres)
        caught.add("postgres.log", Array(try Data(contentsOf: URL(filePath: postgres))))
        for consumer in dead { await consumer.stop() }

        let stays = caught.findings([person]).filter { line in
          line.contains(".log: ") || line.contains("/metrics: ") || line.contains("in headers of ")
        }
        #expect(stays.isEmpty, "\(stays.joined(separator: "\n"))")
        let hash = CustomerDigest.short(of: person.text, of: RunningFleet.publisher.number)
        #expect(!fleet.logged("\"customer\":\"\(hash)\"").isEmpty, "support finds the customer's lines")
        let unreadable = fleet.logged("\"event\":\"a commit failed\"")
        #expect(unreadable.contains { $0.contains("\"customer\":\"\(hash)\"") }, "support finds the unreadable row")
      }
    }
  }

  /// So the search above finds what is there.
  @Test func `with log.customers plain, the lines name the customer, and with none, nobody`() async throws {
    let person = Canary("customer", text: "Jane.O_Doe+42@example.com")
    for (setting, isNamed) in [("plain", true), ("none", false)] {
      try await RunningFleet.with(["gateway-1"], overrides: ["COUNTERSIGN_LOG_CUSTOMERS": setting]) {
        fleet async throws in
        #expect(try await fleet.putCustomer(person.text).status == 201)
        let body = #"{"customerId":"\#(person.text)","transactionId":"1000000000001"}"#
        let headers = fleet.headers(RunningFleet.publisher)
        #expect(try await fleet.send("POST", fleet.url("/storekit2/purchases"), headers, body).status == 202)
        try await eventually("the line is there") { !fleet.logged("\"event\":\"registered\"").isEmpty }
        let caught = CanaryCatch(fleet)
        try caught.readLogs()
        #expect(!caught.findings([person]).isEmpty == isNamed)
        #expect(fleet.logged("\"customer\":").isEmpty != isNamed)
      }
    }
  }
}
