import EventLoop
import Fleets
import Formats
import FoundationEssentials
import HTTP
import ServerSupport
import Simulator
import TestSupport
import Testing

/// A publisher that moves to another fleet, by `countersign export` and `countersign import --from countersign`.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct MoveImportTests {
  private let publisher = "\(RunningFleet.publisher)"
  private let lasting = "2000000000000901"
  private let released = "1000000000901"
  /// The customer with a purchase from the sandbox, and sandbox access by hand.
  private let tester = "9109"

  @Test func `everybody has the same access in an empty fleet that imports the export`() async throws {
    // Apple is asked again after the refund.
    let overrides = ["COUNTERSIGN_WORKER_ANSWER_REUSE_SECONDS": "0"]
    let prepare: @LoopActor (RunningFleet) throws -> Void = { try $0.allowNoSandbox() }
    try await RunningFleet.with(["gateway-1", "worker-1"], overrides: overrides, prepare: prepare) { old in
      try await live(in: old)
      let file = old.folder + "/export.jsonl"
      _ = try await old.command(["export", "--publisher", publisher, "--output", file, "--fast"])
      let there = try access(in: file)
      // What every kind of purchase and grant gives, or does not.
      #expect(there.filter { $0.value.contains(#""accessGranted":true"#) }.count == 9, "\(there)")
      try await RunningFleet.with(["gateway-1", "worker-1"], prepare: { try $0.ask(old) }) { new in
        // Apple's history tells about the refund before the import does. Nobody owns the purchase yet.
        try await eventually("the new fleet has read Apple's history") {
          let read = try await new.count("notification_sources WHERE read_through IS NOT NULL")
          let open = try await new.count("notifications WHERE applied_at IS NULL")
          return read == 2 && open == 0
        }
        #expect(try await new.count("purchases") == 1)
        let command = ["import", "--publisher", publisher, "--from", "countersign", file]
        let plan = try await new.command(command + ["--dry-run", "--json"])
        #expect(
          plan.contains(#""rows":11,"#) && plan.contains(#""grants":2,"unowned":1,"sandboxAccess":1,"#), "\(plan)")
        let report = new.folder + "/report.jsonl"
        let told = try await new.command(command + ["--json", "--share", "1", "--report", report])
        // Customer 7 stands in both fleets.
        #expect(told.contains(#""broughtCustomers":\#(there.count - 1),"broughtGrants":2,"#), "\(told)")
        #expect(told.contains(#""endedGrants":0,"refused":0,"broughtSandboxAccess":1,"#), "\(told)")
        #expect(told.contains(#""rows":11,"#), "\(told)")
        let events = try await new.texts("SELECT convert_from(body, 'UTF8') AS text FROM events ORDER BY time")
        #expect(events == [])
        let second = new.folder + "/second.jsonl"
        _ = try await new.command(["export", "--publisher", publisher, "--output", second, "--fast"])
        #expect(try access(in: second) == there)
        for customer in there.keys {
          #expect(try await new.movedAccess(of: customer) == old.movedAccess(of: customer), "\(customer)")
        }
        let override = "sandbox_access WHERE customer_id = '\(tester)' AND reason = 'testing' AND ended_at IS NULL"
        #expect(try await new.count(override) == 1)
        // Whoever brings it again, changes nothing.
        let again = try await new.command(command + ["--json", "--share", "1", "--report", report])
        #expect(again.contains(#""broughtCustomers":0,"broughtGrants":0"#), "\(again)")
        #expect(again.contains(#""refused":0,"broughtSandboxAccess":0,"endedSandboxAccess":0"#), "\(again)")
        #expect(try await new.count("audit WHERE action = 'customer.sandboxAccessSet'") == 1)
        #expect(try await new.ledgerDifferences() == [])
        // A customer who was brought is the one that the publisher has put.
        #expect(try await new.count("customers WHERE email = 'n3@example.com' AND is_registered") == 1)
      }
    }
  }

  @Test func `what an import leaves out is named with its line, and a brought grant is told`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      let put = try await fleet.putCustomer("9301", #"{"email":"ann@example.com"}"#)
      #expect(put.status < 300)
      func grant(_ number: Int, of offer: String) -> String {
        let id = "00000000-0000-4000-8000-00000000000\(number)"
        return #"{"kind":"grant","key":["\#(id)"],"grantId":"\#(id)","createdAt":"2026-11-20T09:00:00.000Z","#
          + #""customerId":"9303","expiresAt":"2099-12-24T00:00:00.000Z","offerId":"\#(offer)","reason":"goodwill"}"#
      }
      let lines = [
        #"{"kind":"export","format":1,"publisherId":7}"#,
        #"{"kind":"customer","key":["9302"],"customerId":"9302","email":"ANN@example.com","isRegistered":true}"#,
        #"{"kind":"customer","key":["9303"],"customerId":"9303","isRegistered":true}"#,
        grant(1, of: "none"), grant(2, of: "S2"),
        #"{"kind":"sandboxAccess","customerId":"9303","reason":"testing","setAt":"2026-11-20T09:00:00.000Z","#
          + #""until":"2099-12-24T00:00:00.000Z"}"#,
        #"{"kind":"end","lines":{"customer":2,"grant":2,"sandboxAccess":1}}"#,
      ]
      let file = fleet.folder + "/export.jsonl"
      try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: file))
      let command = ["import", "--publisher", publisher, "--from", "countersign", file, "--tell"]
      // An offer that the publisher lacks is known before anything is brought.
      let cause = "line 4: is a grant of offer none, which the publisher's file does not have"
      let refused = await #expect(throws: ChildProcess.Failure.self) { try await fleet.command(command) }
      #expect(refused?.description.contains(cause) == true, "\(String(describing: refused))")
      #expect(try await fleet.count("grants") == 0)
      let told = try await fleet.command(command + ["--skip-problems"])
      #expect(told.contains(cause) && told.contains(#"{"line":4,"result":"skipped","#), "\(told)")
      #expect(told.contains("line 2: a customer is left out: another customer has the e-mail address"), "\(told)")
      #expect(told.contains("line 6: sandbox access is left out: it ends more than 90 days from now"), "\(told)")
      #expect(told.contains("1 customers and 1 grants are brought; 0 grants have ended, 2 things are left out"))
      #expect(try await fleet.movedAccess(of: "9303").map(\.rule) == ["granted"])
      let events = try await fleet.texts(
        "SELECT concat_ws(' ', topic, customer_id) AS text FROM events WHERE publisher_id = \(publisher)")
      #expect(events == ["entitlementsChanged 9303"])
      // The audit log names the person who runs the import.
      let entries = try await fleet.texts(
        "SELECT concat_ws(' ', action, subject) AS text FROM audit WHERE actor LIKE 'operator:_%' ORDER BY id")
      #expect(entries == ["customer.put 9303", "customer.granted 9303"])
    }
  }

  /// Lets customers have purchases of every kind, a refund, and grants.
  private func live(in fleet: RunningFleet) async throws {
    let kinds = ["100", "101", "102", "103", "105", "106", "110", "111", "112", "121"]
    let bought = kinds.map { $0 + "0000000900" } + [lasting, released]
    _ = await fleet.simulator.control("PUT", "/simulator/lives/\(lasting)", #"{"periodSeconds":3600,"notify":[]}"#)
    for (number, id) in bought.enumerated() {
      let customer = Int64(9100 + number)
      let put = try await fleet.putCustomer(String(customer), #"{"email":"n\#(number)@example.com"}"#)
      #expect(put.status < 300)
      #expect(try await fleet.register(id, customer: customer, id: "r\(number)").status == 202)
    }
    _ = try await fleet.finished(Set(bought.indices.map { "r\($0)" }))
    // One of them gets the money back, and another one is nobody's any more.
    _ = await fleet.simulator.control("POST", "/simulator/lives/\(lasting)/refund")
    #expect(try await fleet.register(lasting, customer: 9110, id: "refunded").status == 202)
    let refunded = try await fleet.finished(["refunded"]).first { $0.synchronizationId == "refunded" }
    #expect(refunded?.result == "PURCHASE_REVOKED")
    let release = try await fleet.send(
      "POST", fleet.url("/purchases/\(released)/release"), RunningFleet.publisherHeaders(RunningFleet.publisher))
    #expect(release.status == 200)
    // Nobody has access from the sandbox, besides one customer until a date.
    let until = Int64(Date().timeIntervalSince1970 * 1000) + 86_400_000
    let tested = try await fleet.send(
      "PUT", fleet.url("/customers/\(tester)/sandbox-access"), RunningFleet.publisherHeaders(RunningFleet.publisher),
      #"{"reason":"testing","until":"\#(rfc3339(milliseconds: until))","note":"Ticket 4711"}"#)
    #expect(tested.status == 201)
    // Two grants are open, and one is withdrawn. One of them is the only access of its customer.
    #expect(try await fleet.putCustomer(9200).status < 300)
    #expect(try await fleet.give(#""offerId":"S2","note":"Ticket 4711""#, to: 9200).status == 201)
    #expect(try await fleet.give(to: 9101).status == 201)
    let withdrawn = try await fleet.give(to: 9100)
    _ = try await fleet.withdraw(try #require(withdrawn.grant?.grantId), of: 9100)
  }

  /// What each customer of an export may use.
  private func access(in file: String) throws -> [String: String] {
    let text = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
    var found: [String: String] = [:]
    for line in text.split(separator: "\n") where line.hasPrefix(#"{"kind":"customer""#) {
      let id = try #require(line.split(separator: #""customerId":""#).dropFirst().first?.prefix { $0 != "\"" })
      found[String(id)] = line.split(separator: #","access":"#).dropFirst().first.map(String.init) ?? ""
    }
    return found
  }
}

extension RunningFleet {
  /// What the API says of a customer's access.
  fileprivate struct MovedAccess: Decodable, Equatable {
    let offerId: String
    let accessGranted: Bool
    let rule: String
    let expiresAt: String?
    let environment: String?
    let grant: Grant?
    struct Grant: Decodable, Equatable { let grantId: String }
  }

  fileprivate func movedAccess(of customer: String) async throws -> [MovedAccess] {
    struct Answer: Decodable { let entitlements: [MovedAccess] }
    let answer = try await send(
      "GET", url("/customers/\(customer)/entitlements"), Self.publisherHeaders(Self.publisher))
    return try JSONDecoder().decode(Answer.self, from: Data(answer.body)).entitlements
  }

  /// Lets the publisher's file give nobody access from the sandbox.
  fileprivate func allowNoSandbox() throws {
    try changePublisher { $0.replacing(#""sandboxAccess": "everybody""#, with: #""sandboxAccess": "nobody""#) }
  }

  /// Lets the fleet ask the Apple of another fleet, with the same rules.
  fileprivate func ask(_ other: RunningFleet) throws {
    try allowNoSandbox()
    let port = ("127.0.0.1:\(simulator.port)/", "127.0.0.1:\(other.simulator.port)/")
    let folders = ("simulator/", "\(other.folder)/simulator/")
    for (file, changes) in [
      ("countersign.json", [port, ("\"" + folders.0, "\"" + folders.1)]),
      ("publishers/\(Self.publisher).json", [("../" + folders.0, folders.1)]),
    ] {
      let url = URL(filePath: "\(folder)/\(file)")
      var text = String(decoding: try Data(contentsOf: url), as: UTF8.self)
      for (old, new) in changes { text = text.replacing(old, with: new) }
      try Data(text.utf8).write(to: url)
    }
  }
}
