import Crypto
import EventLoop
import Fleets
import Formats
import HTTP
import HTTPServer
import JSON
import Postgres
import ServerSupport
import Simulator
import TestSupport
import Testing

/// iaptic's door at a running fleet, as the vendor's clients and a publisher's backend use it.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct IapticDoorTests {
  private func with(
    _ names: [String] = ["gateway-1", "worker-1"], overrides: [String: String] = [:],
    _ body: @LoopActor (IapticClient) async throws -> Void
  ) async throws {
    let settings = ["COUNTERSIGN_WORKER_ANSWER_REUSE_SECONDS": "0"].merging(overrides) { $1 }
    try await RunningFleet.with(names, overrides: settings) { fleet in try await body(IapticClient(fleet: fleet)) }
  }

  @Test func `a grant is not shown`() async throws {
    try await with { client in
      let old = try client.fleet.simulator.signedTransaction("1010000000001")
      _ = try await client.validate(jws: old, user: "7")
      #expect(try await client.fleet.give().status == 201)
      let again = try await client.validate(jws: old, user: "7")
      #expect(again.collection.count == 1 && again["data", "collection", "0", "isExpired"] == .bool(true))
      let read = try await client.read("/v2/customers/7/purchases")
      #expect(read["purchases", "apple:com.example.app.monthly", "isExpired"] == .bool(true))
      let list = try await client.read("/v2/customers?applicationUsername=7")
      #expect(list["rows", "0", "customerInfo", "activeSubscriber"] == .bool(false))
    }
  }

  @Test func `the plugin's receipt and the Swift client's transaction are validated and can be read`() async throws {
    try await with { client in
      let receipt = try client.fleet.simulator.receipt(["1000000000001", "1110000000001"])
      let plugin = try await client.validate(
        #"{"type":"ios-appstore","id":"1000000000001","appStoreReceipt":"\#(receipt)"}"#,
        more: #"{"applicationUsername":7,"obfuscatedUsername":"8f14e45f-ceea-367a-8a36-dedd4bea2543"}"#)
      #expect(plugin["ok"] == .bool(true) && plugin["data", "latest_receipt"] == .bool(true))
      #expect(plugin["data", "id"] == .string("com.example.app") && plugin["data", "warning"] == nil)
      #expect(plugin["data", "transaction", "type"] == .string("ios-appstore"))
      #expect(plugin["data", "transaction", "original_application_version"] == .string("1.0"))
      let ids = plugin.collection.compactMap { $0.text("id") }
      #expect(Set(ids) == ["com.example.app.monthly", "com.example.app.coins"])

      let jws = try client.fleet.simulator.signedTransaction("1000000000002")
      let swift = try await client.validate(
        #"{"type":"apple-sk2","id":"com.example.app.monthly","jwsRepresentation":"\#(jws)"}"#,
        more: #"{"applicationUsername":"7"}"#, device: "iaptic-storekit2/1.0.0", isBasic: true)
      #expect(swift.collection.map { $0.text("purchaseId") } == ["1000000000002"])
      #expect(swift["data", "transaction", "type"] == .string("apple-sk2"))

      // An expired purchase is no error.
      let old = try client.fleet.simulator.signedTransaction("1010000000001")
      let expired = try await client.validate(jws: old, user: "7")
      #expect(expired["ok"] == .bool(true) && expired["data", "collection", "0", "isExpired"] == .bool(true))

      let read = try await client.read("/v2/customers/7/purchases")
      #expect(read.status == 200 && read["applicationUsername"] == .string("7"))
      #expect(read["purchases", "apple:com.example.app.monthly", "purchaseId"] != nil)
      #expect(read["purchases", "apple:com.example.app.coins", "platform"] == .string("apple"))
      let list = try await client.read("/v2/customers/?limit=10&skip=0")
      #expect(list["paging", "total"] == .integer(1) && list["rows", "0", "applicationUsername"] == .string("7"))
      #expect(list["rows", "0", "customerInfo", "activeSubscriber"] == .bool(true))
      let named = try await client.read("/v2/customers?applicationUsername=7%2Cnobody")
      #expect(named["paging", "total"] == .integer(1))
      let subscription = try await client.read("/v1/customers/7/subscription")
      #expect(subscription["subscription", "productId"] == .string("com.example.app.monthly"))
      #expect(subscription["id"] == .string("7") && subscription["createdAt"] != nil)
    }
  }

  @Test func `a purchase without a user is unclaimed, and another user's is not shown`() async throws {
    try await with { client in
      _ = try await client.fleet.putCustomer(8)
      let jws = try client.fleet.simulator.signedTransaction("1000000000003")
      for (user, owner) in [(nil, nil), ("7", "7"), (nil, "7")] as [(String?, String?)] {
        let answer = try await client.validate(jws: jws, user: user)
        #expect(answer["ok"] == .bool(true) && answer.collection.count == 1, "\(user ?? "nobody")")
        let read = try await client.fleet.purchase("1000000000003", environment: "Production")
        #expect(read.body?.customerId == owner)
      }
      let refused = try await client.validate(jws: jws, user: "8")
      #expect(refused["ok"] == .bool(false) && refused["code"] == .integer(6_778_001))
      #expect(refused["message"] == .string("The purchase belongs to another user."))
      let receipt = try client.fleet.simulator.receipt(["1000000000003", "1100000000003"])
      let partly = try await client.validate(
        #"{"type":"ios-appstore","appStoreReceipt":"\#(receipt)"}"#, more: #"{"applicationUsername":"8"}"#)
      #expect(partly.collection.map { $0.text("id") } == ["com.example.app.lifetime"])
      #expect(try await client.read("/v2/customers/8/purchases")["purchases", "apple:com.example.app.monthly"] == nil)
    }
  }

  @Test func `the webhook tells a validation, an extension and nothing without a user`() async throws {
    try await with(["gateway-1", "worker-1", "notifier-1"]) { client in
      try await WebhookReceiver.with { receiver in
        let fleet = client.fleet
        let api = WebhookAPIClient(fleet: fleet)
        let both = try await api.create(#""url":"\#(receiver.url("both"))","format":"fovea""#)
        for environment in ["Production", "Sandbox"] {
          _ = try await api.create(
            #""url":"\#(receiver.url(environment))","format":"fovea","environment":"\#(environment)""#)
        }
        let jws = try fleet.simulator.signedTransaction("1000000000004")
        _ = try await client.validate(jws: jws, user: nil)
        _ = try await client.validate(jws: jws, user: "7")
        fleet.simulator.weather = .renewed(days: 60)
        // Somebody else's request brings the news.
        _ = try await client.validate(jws: jws, user: nil)
        fleet.simulator.weather = .fair
        _ = try await client.validate(jws: try fleet.simulator.signedTransaction("1210000000004"), user: "7")

        let got = try await receiver.wait("both", for: 3)
        let bodies = try got.map { try JSONText($0.request.body).decoded(as: JSONValue.self) }
          .map { IapticClient.Answer(status: 200, body: $0) }
        #expect(Set(got.map(\.id)).count == 3)
        for body in bodies {
          #expect(body["type"] == .string("purchases.updated") && body["password"] == .string(both.secret))
          #expect(body["applicationUsername"] == .string("7"))
        }
        let reasons = Set(bodies.compactMap { $0["notification"]?.text("reason") })
        #expect(reasons == ["RECEIPT_VALIDATED", "EXTENDED"])
        let production = try await receiver.wait("Production", for: 2)
        let sandbox = try await receiver.wait("Sandbox", for: 1)
        #expect(Set(production.map(\.id)).isDisjoint(with: Set(sandbox.map(\.id))))
        #expect(Set((production + sandbox).map(\.id)) == Set(got.map(\.id)))
      }
    }
  }

  @Test func `while Apple is away, the plugin may ask again, and known purchases are shown`() async throws {
    let overrides = ["COUNTERSIGN_GATEWAY_DOORS_IAPTIC_WAIT_SECONDS": "0.5"]
    try await with(overrides: overrides) { client in
      let known = try client.fleet.simulator.signedTransaction("1000000000005")
      try await eventually("the purchase is validated") {
        try await client.validate(jws: known, user: "7")["ok"] == .bool(true)
      }
      client.fleet.simulator.weather = .failing
      let new = try client.fleet.simulator.signedTransaction("1000000000006")
      let silent = try await client.validate(jws: new, user: "7")
      #expect(silent["ok"] == .bool(false) && silent["code"] == .integer(6_778_002))
      let old = try await client.validate(jws: known, user: "7")
      #expect(old["ok"] == .bool(true) && old["data", "warning"] != nil && old.collection.count == 1)
      client.fleet.simulator.weather = .fair
      // The work goes on, or a later request begins it again.
      try await eventually("the new purchase is validated") {
        try await client.validate(jws: new, user: "7")["ok"] == .bool(true)
      }
    }
  }

  @Test func `a user whom only the app knows is served, unless the publisher registers them`() async throws {
    try await with { client in
      let fleet = client.fleet
      let jws = try fleet.simulator.signedTransaction("1000000000008")
      let served = try await client.validate(jws: jws, user: "ann")
      #expect(served["ok"] == .bool(true) && served.collection.map { $0.text("purchaseId") } == ["1000000000008"])
      #expect(try await fleet.purchase("1000000000008", environment: "Production").body?.customerId == "ann")
      let read = try await client.read("/v2/customers/ann/purchases")
      #expect(read["purchases", "apple:com.example.app.monthly", "purchaseId"] != nil)
      let nobody = try await client.read("/v2/customers/nobody/purchases")
      #expect(nobody.status == 200 && nobody["purchases"] == .object([:]))
      // Our own API goes on asking for a registration.
      #expect(try await fleet.register("1000000000009", customer: 77).status == 422)
    }
    let registered: @LoopActor (RunningFleet) throws -> Void = {
      try $0.changePublisher { $0.replacing(#""iaptic": {"#, with: #""iaptic": {"customers": "registered", "#) }
    }
    try await RunningFleet.with(["gateway-1", "worker-1"], prepare: registered) { fleet in
      let client = IapticClient(fleet: fleet)
      let refused = try await client.validate(jws: try fleet.simulator.signedTransaction("1000000000008"), user: "ann")
      #expect(refused["ok"] == .bool(false) && refused["code"] == .integer(6_778_001))
      #expect(try await client.read("/v2/customers/ann/purchases").status == 404)
      #expect(try await fleet.count("purchases") == 0)
    }
  }

  @Test func `a bad request of each kind has the vendor's error and leaves nothing`() async throws {
    try await with { client in
      let fleet = client.fleet
      let before = try await client.rows()
      let good = try fleet.simulator.signedTransaction("1000000000007")
      let transaction = #"{"type":"apple-sk2","jwsRepresentation":"\#(good)"}"#
      var answers: [(String, IapticClient.Answer, Int64)] = []
      for id in ["1400000000001", "1410000000001", "1420000000001", "1430000000001"] {
        let jws = try fleet.simulator.signedTransaction(id)
        answers.append((id, try await client.validate(jws: jws, user: "7"), 6_778_001))
        let receipt = try fleet.simulator.receipt([id])
        let body = #"{"type":"ios-appstore","appStoreReceipt":"\#(receipt)"}"#
        answers.append(
          ("receipt " + id, try await client.validate(body, more: #"{"applicationUsername":"7"}"#), 6_778_001))
      }
      for body in ["", "{", "[]", "{}", #"{"transaction":{"type":"android-playstore"}}"#] {
        answers.append((body, try await client.post(body), 6_778_001))
      }
      answers.append(("no evidence", try await client.validate(#"{"type":"apple-sk2"}"#), 6_778_006))
      answers.append(
        ("not base64", try await client.validate(#"{"type":"ios-appstore","appStoreReceipt":"%"}"#), 6_778_001))
      let old = try await client.validate(
        #"{"type":"ios-appstore","appStoreReceipt":"\#(RunningFleet.transactionReceipt)"}"#)
      answers.append(("iOS 6", old, 6_778_001))
      #expect("\(old["message"] ?? .null)".contains("transaction receipt of iOS 6"))
      let long = String(repeating: "x", count: 257)
      answers.append(("a long user", try await client.validate(jws: good, user: long), 6_778_001))
      let body = #"{"transaction":\#(transaction)}"#
      answers.append(("no credential", try await client.post(body, query: ""), 6_778_001))
      answers.append(
        ("a wrong key", try await client.post(body, query: "?appName=com.example.app&apiKey=no"), 6_778_001))
      answers.append(
        ("a wrong name", try await client.post(body, query: "?appName=x&apiKey=iaptic-api-key"), 6_778_001))
      answers.append(
        ("too large", try await client.post(#"{"x":"\#(String(repeating: "x", count: 4 << 20))"}"#), 6_778_001))
      for (name, answer, code) in answers {
        #expect(answer.status == 200 && answer["ok"] == .bool(false), "\(name)")
        #expect(answer["code"] == .integer(code), "\(name)")
      }
      let swift = try await client.validate(#"{"type":"apple-sk2"}"#, device: "iaptic-storekit2/1.0.0")
      #expect(swift["code"] == .string("6778006"))

      for path in ["/v2/customers/7/purchases", "/v2/customers", "/v1/customers/7/subscription"] {
        #expect(try await client.read(path, key: "iaptic-api-key").status == 401, "\(path)")
        #expect(try await client.read(path, key: nil).status == 401, "\(path)")
      }
      #expect(try await client.read("/v2/customers?limit=0").status == 400)
      #expect(try await client.read("/v2/customers/\(long)/purchases").status == 400)
      #expect(try await client.rows() == before)
    }
  }
}

/// A client of iaptic: the Cordova plugin, the Swift client, or a publisher's backend.
@LoopActor
struct IapticClient {
  let fleet: RunningFleet
  /// Whether each request has a connection of its own. On a kept one, libcurl sends a request again that got no answer.
  var isFresh = false

  /// An answer with its decoded JSON.
  struct Answer {
    let status: Int
    let body: JSONValue

    /// A member of the body, by its name or its index.
    subscript(path: String...) -> JSONValue? {
      var value: JSONValue? = body
      for name in path {
        switch value {
        case .object(let members): value = members[name]
        case .array(let elements): value = Int(name).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
        default: return nil
        }
      }
      return value
    }

    var collection: [JSONValue] {
      if case .array(let elements)? = self["data", "collection"] { elements } else { [] }
    }
  }

  private static let query = "?appName=\(RunningFleet.iapticAppName)&apiKey=\(RunningFleet.iapticAPIKey)"

  func post(
    _ body: String, query: String? = nil, headers: [(name: String, value: String)] = []
  ) async throws -> Answer {
    let response = try await fleet.send(
      "POST", fleet.url("/v1/validate" + (query ?? Self.query)),
      [("Content-Type", "application/json;charset=UTF-8")] + headers, body, freshly: isFresh)
    return Answer(status: response.status, body: try JSONText(response.body).decoded())
  }

  /// Validates, with the credential in the query as the plugin sends it, or in the header as the Swift client does.
  func validate(
    _ transaction: String, more: String = "{}", device: String = "cordova-plugin-purchase/13.12.0",
    isBasic: Bool = false
  ) async throws -> Answer {
    let body = """
      {"id":"com.example.app","type":"application","transaction":\(transaction),"additionalData":\(more),\
      "device":{"plugin":"\(device)"}}
      """
    guard isBasic else { return try await post(body) }
    return try await post(body, query: "", headers: [basic(RunningFleet.iapticAPIKey)])
  }

  /// Validates a signed transaction for a user.
  func validate(jws: String, user: String?) async throws -> Answer {
    try await validate(
      #"{"type":"apple-sk2","jwsRepresentation":"\#(jws)"}"#,
      more: user.map { #"{"applicationUsername":"\#($0)"}"# } ?? "{}")
  }

  /// Reads as a backend, with a key of the app.
  func read(_ path: String, key: String? = RunningFleet.iapticSecretKey) async throws -> Answer {
    let response = try await fleet.send("GET", fleet.url(path), key.map { [basic($0)] } ?? [])
    return Answer(status: response.status, body: try JSONText(response.body).decoded())
  }

  private func basic(_ key: String) -> (name: String, value: String) {
    ("Authorization", "Basic " + Base64.encode(Array("\(RunningFleet.iapticAppName):\(key)".utf8)))
  }

  /// How many rows the ledger has of everything that a request could leave.
  func rows() async throws -> [Int64] {
    try await fleet.withLedger { ledger in
      let row = try await ledger.run(PostgresQuery(.countEverything, [])).first
      return (0..<5).map { row?.int64($0) ?? -1 }
    }
  }
}

extension PostgresStatement {
  fileprivate static let countEverything = PostgresStatement(
    "count everything",
    """
    SELECT (SELECT count(*) FROM purchases), (SELECT count(*) FROM ownerships), (SELECT count(*) FROM synchronizations),
      (SELECT count(*) FROM events), (SELECT count(*) FROM customers)
    """)
}
