import EventLoop
import Fleets
import Formats
import HTTP
import JSON
import Postgres
import ServerSupport
import Simulator
import TestSupport
import Testing

/// Mbaasy's door: what an app and a backend of Mbaasy's see.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct MbaasyDoorTests {
  private static let roles = ["gateway-1", "worker-1"]

  @Test func `receipts are validated and kept, or refused and leave nothing`() async throws {
    let scenes = [
      // The first counts rows, and the second events.
      Scene("a bad request gets the contract's error, and leaves nothing", refusesBadRequests),
      Scene("a genuine receipt is validated, kept and told", keepsReceipts),
    ]
    try await RunningFleet.with(Self.roles) { fleet in for scene in scenes { await scene.run(fleet) } }
  }

  @Test func `purchases are shown to whom they belong`() async throws {
    let scenes = [
      // It must see no event of a change, so it comes first.
      Scene("a grant is not shown", showsNoGrant),
      Scene("a purchase has one owner, and nobody else sees who it is", hidesOwners),
      Scene("each scenario is shown as the contract names it", namesScenarios),
      Scene("a user whom only the app knows is served", servesUnknownUsers),
      Scene("a client cannot name another address", believesNobody),
    ]
    try await RunningFleet.with(Self.roles) { fleet in for scene in scenes { await scene.run(fleet) } }
  }

  private func showsNoGrant(_ fleet: RunningFleet) async throws {
    let app = MbaasyApp(fleet)
    let receipt = try fleet.simulator.receipt(["1010000000001"])
    let before = try await app.upload(receipt, #""user_identifier":"7""#)
    #expect(before.status == 200 && before.list("in_app_purchases").count == 1)
    #expect(try await fleet.give().status == 201)
    let after = try await app.upload(receipt, #""user_identifier":"7""#)
    #expect(after.list("in_app_purchases").map(Self.lasting) == before.list("in_app_purchases").map(Self.lasting))
    #expect(try await app.events("in_app_purchase.updated").isEmpty)
  }

  /// A purchase without what changes when Apple is asked again, as after some seconds.
  private static func lasting(_ purchase: JSONValue) -> JSONValue {
    guard case .object(let members) = purchase else { return purchase }
    let passing: Set<ExactText> = ["last_synced_at", "updated_at", "version", "versions"]
    return .object(members.filter { !passing.contains($0.key) })
  }

  private func keepsReceipts(_ fleet: RunningFleet) async throws {
    let app = MbaasyApp(fleet)
    let receipt = try fleet.simulator.receipt(["1000000000001", "1100000000002"])
    let first = try await app.upload(
      receipt,
      #""user_identifier":"7","country_code":"at","identifier_for_vendor":"v-1","metadata":{"b":1,"a":{"x":null}}"#)
    #expect(first.status == 200)
    #expect(first.text("style") == "unified" && first.text("environment") == "production")
    #expect(first.text("bundle_id") == "com.example.app" && first["is_fraud"] == .bool(false))
    #expect(first.text("user_identifier") == "7" && first.text("country_code") == "AT")
    #expect(first.text("ip_address") == "127.0.0.1")
    #expect(first["metadata", "a", "x"] == .null)
    let purchases = first.list("in_app_purchases")
    #expect(Set(purchases.map { $0.text("product_id") }) == ["com.example.app.monthly", "com.example.app.lifetime"])
    for purchase in purchases {
      #expect(purchase.text("user_identifier") == "7" && purchase.text("country_code") == "AT")
      #expect(purchase.text("identifier_for_vendor") == "v-1")
      #expect(purchase.text("app_family_id") == first.text("app_family_id"))
    }
    let created = try await app.events("in_app_purchase.created")
    #expect(Set(created.map { $0.member("data")?.text("id") }) == Set(purchases.map { $0.text("id") }))

    // The same receipt again: the same resources, and no event.
    let again = try await app.upload(receipt, #""user_identifier":"7","ip_address":"2001:db8::1""#)
    #expect(again.status == 200 && again.text("id") == first.text("id"))
    #expect(again.text("ip_address") == "2001:db8::1" && again["metadata"] == .null)
    #expect(again["in_app_purchases", "0", "metadata", "b"] == .integer(1))
    #expect(try await app.events("in_app_purchase.updated").isEmpty)

    // Another campaign: an update, which names the metadata only.
    let changed = try await app.upload(receipt, #""user_identifier":"7","ip_address":null,"metadata":{"b":2}"#)
    #expect(changed.status == 200 && changed["ip_address"] == .null)
    let updated = try await app.events("in_app_purchase.updated")
    #expect(updated.count == 2)
    for event in updated {
      #expect(event.member("previous_attributes")?.names == ["metadata", "updated_at"])
      #expect(event.member("new_attributes")?.member("metadata")?.number("b") == 2)
    }
    #expect(try await app.events("in_app_purchase.created").count == 2)
  }

  private func hidesOwners(_ fleet: RunningFleet) async throws {
    let app = MbaasyApp(fleet)
    _ = try await fleet.putCustomer(8)
    let receipt = try fleet.simulator.receipt(["1000000000003"])
    // Without a user nobody gets the purchase.
    let unclaimed = try await app.upload(receipt, #""metadata":{"campaign":1}"#)
    #expect(unclaimed.status == 200)
    #expect(unclaimed["in_app_purchases", "0", "user_identifier"] == .null)
    #expect(unclaimed["in_app_purchases", "0", "metadata", "campaign"] == .integer(1))
    #expect(try await fleet.purchase("1000000000003", environment: "Production").body?.customerId == nil)

    let claimed = try await app.upload(receipt, #""user_identifier":"7""#)
    #expect(claimed.status == 200)
    #expect(claimed["in_app_purchases", "0", "user_identifier"] == .string("7"))
    for user in [#""user_identifier":"8","metadata":{"mine":true}"#, #""metadata":{"mine":true}"#] {
      let other = try await app.upload(receipt, user)
      #expect(other.status == 200)
      #expect(other["in_app_purchases", "0", "user_identifier"] == .null)
      #expect(other["in_app_purchases", "0", "metadata"] == .null)
    }
    #expect(try await fleet.purchase("1000000000003", environment: "Production").body?.customerId == "7")
    let updated = try await app.events("in_app_purchase.updated").compactMap { $0.member("data") }
      .filter { $0.member("id") == claimed["in_app_purchases", "0", "id"] }
    #expect(updated.map { $0.text("user_identifier") } == ["7"])
  }

  private func servesUnknownUsers(_ fleet: RunningFleet) async throws {
    let receipt = try fleet.simulator.receipt(["1000000000010"])
    let served = try await MbaasyApp(fleet).upload(receipt, #""user_identifier":"ann","country_code":"AT""#)
    #expect(served.status == 200 && served["in_app_purchases", "0", "user_identifier"] == .string("ann"))
    #expect(try await fleet.purchase("1000000000010", environment: "Production").body?.customerId == "ann")
    // Our own API goes on asking for a registration.
    #expect(try await fleet.register("1000000000011", customer: 77).status == 422)
  }

  @Test func `a user whom only the app knows is refused when the publisher registers them`() async throws {
    let registered: @LoopActor (RunningFleet) throws -> Void = {
      try $0.changePublisher { $0.replacing(#""mbaasy": {"#, with: #""mbaasy": {"customers": "registered", "#) }
    }
    try await RunningFleet.with(Self.roles, prepare: registered) { fleet in
      let receipt = try fleet.simulator.receipt(["1000000000010"])
      let refused = try await MbaasyApp(fleet).upload(receipt, #""user_identifier":"ann","country_code":"AT""#)
      #expect(refused.status == 422 && refused["errors", "user_identifier", "0"] != nil)
      #expect(try await fleet.count("purchases") == 0)
    }
  }

  private func namesScenarios(_ fleet: RunningFleet) async throws {
    let app = MbaasyApp(fleet)
    func purchase(_ scenario: String) async throws -> JSONValue {
      let answer = try await app.upload(
        try fleet.simulator.receipt(["\(scenario)0000000005"]), #""user_identifier":"7""#)
      #expect(answer.status == 200, "\(scenario)")
      return answer.list("in_app_purchases").first ?? .null
    }
    #expect(try await purchase("101").text("canceled_by") == "user")
    #expect(try await purchase("102").text("canceled_by") == "user")
    #expect(try await purchase("103").member("in_grace_period") == .bool(true))
    #expect(try await purchase("104").member("in_grace_period") == .bool(true))
    #expect(try await purchase("105").text("product_id") == "com.example.app.yearly")
    #expect(try await purchase("111").text("type") == "consumable")
    #expect(try await purchase("112").text("type") == "non_renewing_subscription")
    #expect(try await purchase("121").text("environment") == "sandbox")
    #expect(try await purchase("121").member("entitlements") == .array([.string("video"), .string("sport")]))
    // Apple has answered that it does not know the purchase. So the ledger does not know it either.
    #expect(try await purchase("120") == .null)
  }

  @Test func `what Apple has not answered in time is queued, and its result follows`() async throws {
    let overrides = [
      "COUNTERSIGN_GATEWAY_DOORS_MBAASY_WAIT_SECONDS": "0.5",
      "COUNTERSIGN_WORKER_RETRY_SCHEDULE_SECONDS": Array(repeating: "0.5", count: 400).joined(separator: ","),
    ]
    try await RunningFleet.with(Self.roles, overrides: overrides) { fleet in
      let app = MbaasyApp(fleet)
      let receipt = try fleet.simulator.receipt(["1000000000006", "1100000000006"])
      fleet.simulator.weather = .failing
      let waiting = try await app.upload(receipt, #""user_identifier":"7","metadata":{"a":1}"#)
      #expect(waiting.status == 206)
      #expect(waiting["is_fraud"] == .bool(false) && waiting.list("in_app_purchases").isEmpty)
      #expect(waiting["metadata", "a"] == .integer(1))
      // The jobs run when Apple is back, though the client is gone.
      fleet.simulator.weather = .fair
      try await eventually("both purchases are told") {
        try await app.events("in_app_purchase.created").count == 2
      }
      // Both jobs of an upload must end within its wait. On a busy machine some of them do not.
      var later = waiting
      try await eventually("the receipt is validated") {
        later = try await app.upload(receipt, #""user_identifier":"7""#)
        return later.status == 200
      }
      #expect(later.list("in_app_purchases").allSatisfy { $0.member("metadata")?.number("a") == 1 })
      // A purchase that the ledger knows is shown although Apple has not answered about the other one. Apple fails for
      // good: a gateway that stands still must not find an answer after its wait.
      fleet.simulator.localWeather["1330000000007"] = [.failing]
      let slow = try await app.upload(
        try fleet.simulator.receipt(["1330000000007", "1000000000006"]), #""user_identifier":"7""#)
      #expect(slow.status == 206)
      #expect(slow.list("in_app_purchases").map { $0.text("product_id") } == ["com.example.app.monthly"])
    }
  }

  private static let forwarded = [(name: "X-Forwarded-For", value: "198.51.100.1, 203.0.113.9")]

  private func believesNobody(_ fleet: RunningFleet) async throws {
    let receipt = try fleet.simulator.receipt(["1000000000008"])
    #expect(try await MbaasyApp(fleet).upload(receipt, headers: Self.forwarded).text("ip_address") == "127.0.0.1")
  }

  @Test func `a listed proxy may name the client`() async throws {
    let proxies = ["COUNTERSIGN_GATEWAY_TRUSTED_PROXIES": "127.0.0.0/8"]
    try await RunningFleet.with(Self.roles, overrides: proxies) { fleet in
      let receipt = try fleet.simulator.receipt(["1000000000008"])
      #expect(try await MbaasyApp(fleet).upload(receipt, headers: Self.forwarded).text("ip_address") == "203.0.113.9")
      let garbage = [(name: "X-Forwarded-For", value: "unknown")]
      #expect(try await MbaasyApp(fleet).upload(receipt, headers: garbage)["ip_address"] == .null)
    }
  }

  private func refusesBadRequests(_ fleet: RunningFleet) async throws {
    let app = MbaasyApp(fleet)
    let good = try fleet.simulator.receipt(["1000000000009"])
    #expect(try await app.send(#"{"receipt":"\#(good)"}"#, token: nil).status == 401)
    #expect(try await app.send(#"{"receipt":"\#(good)"}"#, token: "wrong").status == 401)
    let old = try await app.upload(RunningFleet.transactionReceipt, #""user_identifier":"7""#)
    #expect(old.status == 422)
    #expect("\(old["errors", "receipt", "0"] ?? .null)".contains("transaction receipt of iOS 6"))
    let mistakes = try await app.send(#"{"country_code":"AUT","ip_address":"x","metadata":1}"#)
    #expect(mistakes.status == 422)
    #expect(mistakes["errors"]?.names == ["country_code", "ip_address", "metadata", "receipt"])
    #expect(try await app.send("receipt=x")["errors"]?.names == ["base"])
    let jws = try fleet.simulator.signedTransaction("1000000000009")
    for receipt in [jws, "AAAA", "no base64", try fleet.simulator.receipt(["1430000000009"])] {
      let answer = try await app.upload(receipt, #""user_identifier":"7""#)
      #expect(answer.status == 422 && answer["errors"]?.names == ["receipt"])
    }
    let long = try await app.send(#"{"receipt":"\#(String(repeating: "A", count: 4 << 20))"}"#)
    #expect(long.status == 413 && long["errors"]?.names == ["base"])
    #expect(try await app.audited("receipt.forged") == 0)

    for scenario in ["140", "141", "142"] {
      let forged = try await app.upload(
        try fleet.simulator.receipt(["\(scenario)0000000009"]), #""user_identifier":"7","metadata":{"a":1}"#)
      #expect(forged.status == 402 && forged["is_fraud"] == .bool(true))
      #expect(forged.text("fraud_reason")?.isEmpty == false && forged["bundle_id"] == .null)
      #expect(forged["in_app_purchases"] == .array([]) && forged.text("user_identifier") == "7")
    }
    #expect(try await app.audited("receipt.forged") == 3)
    for table in ["purchases", "ownerships", "synchronizations", "events"] {
      #expect(try await app.count("SELECT count(*) FROM \(table)") == 0, "\(table)")
    }
  }
}

/// An app with its client token, and the backend that gets its events.
@LoopActor
private struct MbaasyApp {
  let fleet: RunningFleet

  init(_ fleet: RunningFleet) { self.fleet = fleet }

  /// Uploads a receipt.
  ///
  /// - Parameter members: further members of the body, as JSON.
  func upload(
    _ receipt: String, _ members: String? = nil, headers: [(name: String, value: String)] = []
  ) async throws -> WebhookAPIClient.Answer {
    try await send("{\(members.map { $0 + "," } ?? "")\"receipt\":\"\(receipt)\"}", headers: headers)
  }

  /// Sends any body.
  func send(
    _ body: String, token: String? = RunningFleet.mbaasyClientToken, headers: [(name: String, value: String)] = []
  ) async throws -> WebhookAPIClient.Answer {
    var headers = headers + [(name: "Content-Type", value: "application/json")]
    if let token { headers.append((name: "Authorization", value: "Bearer \(token)")) }
    let response = try await fleet.send("POST", fleet.url("/client/itunes_connect/receipts"), headers, body)
    return WebhookAPIClient.Answer(
      status: response.status, headers: response, body: try JSONText(response.body).decoded())
  }

  /// The vendor's bodies of the events of a topic, as the ledger keeps them for delivery.
  func events(_ topic: String) async throws -> [JSONValue] {
    let query = PostgresStatement("events in a test", "SELECT body FROM events WHERE topic = $1 ORDER BY version, id")
    return try await fleet.withLedger { ledger in
      try await ledger.run(PostgresQuery(query, [.text(topic)])).compactMap { row in
        try JSONText(row.bytes(0) ?? []).decoded(as: JSONValue.self).member("data")
      }
    }
  }

  /// How many entries of the audit log have an action.
  func audited(_ action: String) async throws -> Int64? {
    try await count("SELECT count(*) FROM audit WHERE action = '\(action)'")
  }

  func count(_ query: String) async throws -> Int64? {
    try await fleet.withLedger { try await $0.run(PostgresQuery(PostgresStatement("count in a test", query))) }
      .first?.int64(0)
  }
}

extension JSONValue {
  /// A member of an object.
  fileprivate func member(_ name: String) -> JSONValue? {
    if case .object(let members) = self { members[name] } else { nil }
  }

  /// The names of an object's members.
  fileprivate var names: [String] {
    if case .object(let members) = self { members.keys.map(\.text).sorted() } else { [] }
  }
}
