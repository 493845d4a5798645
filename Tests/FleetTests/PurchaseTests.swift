import Domain
import EventLoop
import Fleets
import FoundationEssentials
import Glibc
import HTTP
import ServerSupport
import TestSupport
import Testing

/// A whole fleet without faults: what a customer, a subscriber and a webhook endpoint see.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct PurchaseTests {
  /// Every scenario of the simulator and its expected result; 123 has none, since its app is not the key's.
  private static let outcomes: [(prefix: String, result: String, offer: String?)] = [
    ("100", "PURCHASE_SYNCHRONIZED", "S1"), ("101", "RECEIVED_EXPIRED_PURCHASE", nil), ("102", "PURCHASE_REVOKED", nil),
    ("103", "PURCHASE_SYNCHRONIZED", "S1"), ("104", "RECEIVED_EXPIRED_PURCHASE", nil),
    ("105", "PURCHASE_SYNCHRONIZED", "S2"), ("106", "PURCHASE_SYNCHRONIZED", "S1"),
    ("110", "PURCHASE_SYNCHRONIZED", "A1"), ("111", "PURCHASE_SYNCHRONIZED", "A1"),
    ("112", "PURCHASE_SYNCHRONIZED", "P1"), ("120", "TRANSACTION_ID_NOT_FOUND", nil),
    ("121", "PURCHASE_SYNCHRONIZED", "S1"), ("122", "PURCHASE_SYNCHRONIZED", "S1"),
    ("124", "TRANSACTION_ID_NOT_FOUND", nil),
    ("130", "PURCHASE_SYNCHRONIZED", "S1"), ("131", "PURCHASE_SYNCHRONIZED", "S1"), ("132", "INTERNAL_ERROR", nil),
    ("133", "PURCHASE_SYNCHRONIZED", "S1"), ("134", "PURCHASE_SYNCHRONIZED", "S1"),
    ("140", "VERIFICATION_FAILED", nil), ("141", "VERIFICATION_FAILED", nil), ("142", "VERIFICATION_FAILED", nil),
    ("143", "APP_MISMATCH", nil), ("144", "VERIFICATION_FAILED", nil), ("145", "INTERNAL_ERROR", nil),
    ("146", "INTERNAL_ERROR", nil),
  ]

  @Test func `every scenario ends as it must, and every replica did work`() async throws {
    try await RunningFleet.with { fleet in
      var expected: [String: (result: String, offer: String?)] = [:]
      for round in 0..<4 {
        for (number, outcome) in Self.outcomes.enumerated() {
          let id = "s-\(outcome.prefix)-\(round)"
          // These scenarios break connections, and the other purchases' attempts on them would fail too; once is
          // enough.
          if round > 0, ["132", "134", "145", "146"].contains(outcome.prefix) { continue }
          let gateway = number % 2 == 0 ? "gateway-1" : "gateway-2"
          let answer = try await fleet.register("\(outcome.prefix)000000000\(round)", id: id, gateway: gateway)
          #expect(answer.status == 202)
          #expect(answer.header("location") == "/storekit2/purchases/synchronizations/\(id)")
          expected[id] = (outcome.result, outcome.offer)
        }
      }
      let events = try await fleet.finished(Set(expected.keys))
      for event in events {
        let (result, offer) = try #require(expected[event.synchronizationId])
        #expect(event.result == result, "\(event.synchronizationId)")
        // The status is never behind the event.
        let status = try #require(try await fleet.status(event.synchronizationId, gateway: "gateway-2"))
        #expect(status.status == "finalized")
        #expect(status.result == result)
        #expect(status.accessGranted == (offer != nil))
        #expect(status.offerId == offer)
        #expect(status.version == event.version)
      }
      let ids = Set(events.map(\.id))
      #expect(ids.count == expected.count)

      let webhooks = try await fleet.webhooks.wait { Set($0.map(\.id)).isSuperset(of: ids) }
      let bodies = Dictionary(events.map { ($0.id, $0.body) }) { first, _ in first }
      for webhook in webhooks {
        #expect(webhook.isVerified)
        #expect(webhook.body == bodies[webhook.id])
      }
      // The lines that lead from an alert about slow purchases to their traces.
      let finalized = fleet.logged(#""event":"finalized""#)
      #expect(finalized.count >= ids.count)
      #expect(finalized.allSatisfy { $0.contains(#""ageSeconds":"#) && $0.contains(#""traceId":""#) })
      try await eventually("the notifiers have logged how long each first attempt waited") {
        let lines = fleet.logged(#""event":"delivered""#).filter { $0.contains(#""firstAttemptDelaySeconds":"#) }
        return lines.count >= ids.count && lines.allSatisfy { $0.contains(#""traceId":""#) }
      }
      for name in fleet.roles.keys {
        let metric =
          switch name.prefix(while: { $0 != "-" }) {
          case "gateway": "countersign_registrations_total{code=\"accepted\"}"
          case "worker": "countersign_results_total"
          default: "countersign_webhook_attempts_total"
          }
        #expect(try await fleet.metric(name, metric) > 0, "\(name) did no work")
        #expect(fleet.roles[name]?.process.status == nil, "\(name) ended")
      }
    }
  }

  @Test func `a job whose key Apple refuses waits until the file is mended, and no "not found" hides it`() async throws
  {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { (fleet) async throws in
      let transaction = "1220000000001"  // 401 in production, active in the sandbox
      let accepted = try await fleet.register(transaction, publisher: RunningFleet.openPublisher, id: "refused")
      #expect(accepted.status == 202)
      try await eventually("the refusal is told") { fleet.log("worker-1").contains("Apple refused the key") }
      try await eventually("the job waits") {
        try await fleet.metric("worker-1", "countersign_job_retries_total{cause=\"unauthorized\"}") > 0
      }
      // Another publisher marks the same app as not released.
      #expect(try await fleet.register(transaction, id: "unreleased").status == 202)
      #expect(try await fleet.finished(["unreleased"]).last?.result == "PURCHASE_SYNCHRONIZED")
      try fleet.writePublisher(
        RunningFleet.openPublisher,
        """
        "customers": "open", "apps": [\(RunningFleet.app)], "offers": \(RunningFleet.offers),
        "sandboxAccess": "everybody"
        """)
      fleet.roles["worker-1"]?.process.send(SIGHUP)
      // The job goes on by itself.
      let refused = try await fleet.finished(["refused"]).filter { $0.synchronizationId == "refused" }
      #expect(refused.map(\.result) == ["PURCHASE_SYNCHRONIZED"])
    }
  }

  @Test func `a purchase from the sandbox gives access only to whom the publisher lets`() async throws {
    let reuse = ["COUNTERSIGN_WORKER_ANSWER_REUSE_SECONDS": "60"]
    try await RunningFleet.with(["gateway-1", "worker-1"], overrides: reuse) { (fleet) async throws in
      let transaction = "1210000000001"
      // The recent answer covers the other registrations, and one of their customers must not get its access.
      for (id, customer) in [("a", RunningFleet.sandboxCustomer), ("b", RunningFleet.sandboxCustomer), ("c", 7)] {
        let answer = try await fleet.register(
          transaction, customer: customer, publisher: RunningFleet.openPublisher, id: id)
        #expect(answer.status == 202)
        _ = try await fleet.finished([id])
      }
      #expect(try await fleet.metric("worker-1", "countersign_covered_runs_total") == 2)
      let events = try await fleet.finished(["a", "b", "c"])
      #expect(events.map(\.result) == ["PURCHASE_SYNCHRONIZED", "PURCHASE_SYNCHRONIZED", "SANDBOX_NOT_ALLOWED"])
      #expect(events.map(\.accessGranted) == [true, true, false])
      #expect(events.map(\.offerId) == ["S1", "S1", nil])
      #expect(events.map(\.environment) == ["Sandbox", "Sandbox", "Sandbox"])
      let refused = try await fleet.status("c", publisher: RunningFleet.openPublisher)
      #expect(refused?.result == "SANDBOX_NOT_ALLOWED" && refused?.environment == "Sandbox")
      // In production every customer has access.
      let bought = try await fleet.register("1000000000001", publisher: RunningFleet.openPublisher, id: "d")
      #expect(bought.status == 202)
      let event = try await fleet.finished(["d"]).last
      #expect(event?.result == "PURCHASE_SYNCHRONIZED" && event?.environment == "Production")
    }
  }

  @Test func `customers register purchases, and mistakes are refused`() async throws {
    let scenes = [
      Scene("what cannot be right is refused with the documented code", refusesMistakes),
      Scene("a purchase belongs to the first customer who registers it", belongsToTheFirst),
      Scene("a customer's id is a text, and its events have it", takesTextIds),
      Scene("publishers are read anew on SIGHUP, and a mistake leaves the old one", readsPublishersAnew),
      // It does not wait for its last event.
      Scene("one synchronization of a transaction at a time, and everybody sees only their own", runsOneAtATime),
    ]
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      for scene in scenes { await scene.run(fleet) }
    }
  }

  private func belongsToTheFirst(_ fleet: RunningFleet) async throws {
    #expect(try await fleet.putCustomer(8).status == 201)
    let transaction = "1000000000009"
    #expect(try await fleet.register(transaction, customer: 7, id: "first").status == 202)
    _ = try await fleet.finished(["first"])
    #expect(try await fleet.register(transaction, customer: 8, id: "second").status == 202)
    _ = try await fleet.finished(["second"])
    #expect(try await fleet.register(transaction, customer: 7, id: "third").status == 202)
    let own = ["first", "second", "third"]
    let events = try await fleet.finished(["third"]).filter { own.contains($0.synchronizationId) }
    #expect(
      events.map(\.result) == [
        "PURCHASE_SYNCHRONIZED", "PURCHASE_OWNED_BY_ANOTHER_CUSTOMER", "PURCHASE_SYNCHRONIZED",
      ])
    // Another customer's registration changes the purchase only if Apple has signed something new.
    #expect(events[0].version >= 1)
    #expect(events[0].version <= events[1].version)
    #expect(events[1].version <= events[2].version)
    let second = try #require(try await fleet.status("second"))
    #expect(second.accessGranted == false)
    #expect(second.offerId == nil)
    // The same id again is the same registration: no job runs, and its status is there.
    #expect(try await fleet.register(transaction, customer: 7, id: "first").status == 202)
    #expect(try await fleet.register("1000000000010", customer: 7, id: "first").status == 400)
    // The longest id that a client may send.
    let long = String(repeating: "x", count: 256)
    #expect(try await fleet.register("1000000000011", customer: 7, id: long).status == 202)
    #expect(try await fleet.finished([long]).last?.result == "PURCHASE_SYNCHRONIZED")
  }

  private func takesTextIds(_ fleet: RunningFleet) async throws {
    let (id, headers) = ("user/é|7", fleet.headers(RunningFleet.publisher))
    #expect(try await fleet.putCustomer(id, #"{"email":"a@example.com"}"#).status == 201)
    let read = try await fleet.send("GET", fleet.url("/customers/user%2F%C3%A9%7C7"), headers)
    #expect(String(decoding: read.body, as: UTF8.self) == #"{"customerId":"\#(id)","email":"a@example.com"}"#)
    let body = #"{"customerId":"\#(id)","transactionId":"1000000000031"}"#
    let bearer = [
      ("Authorization", "Bearer \(jwt(claim: "\"\(id)\"", publisher: RunningFleet.publisher))"),
      ("Content-Type", "application/json"),
    ]
    let answer = try await fleet.send(
      "POST", fleet.url("/purchases"), bearer + [("Correlation-Id", "text")], body)
    #expect(answer.status == 202)
    // Another spelling of the same letters is another customer, whom nobody has put.
    let twin = try await fleet.send(
      "POST", fleet.url("/purchases"), headers, body.replacing("é", with: "e\u{301}"))
    #expect(twin.status == 422)
    // The same number, once as a number and once as a text: one customer.
    #expect(try await fleet.register("1000000000032", customer: 7, id: "number").status == 202)
    _ = try await fleet.finished(["number"])
    let again = try await fleet.send(
      "POST", fleet.url("/purchases"), headers + [("Correlation-Id", "digits")],
      #"{"customerId":"7","transactionId":"1000000000032"}"#)
    #expect(again.status == 202)
    let own = ["text", "number", "digits"]
    let events = try await fleet.finished(["text", "digits"]).filter { own.contains($0.synchronizationId) }
    #expect(events.map(\.result) == Array(repeating: "PURCHASE_SYNCHRONIZED", count: 3))
    for event in events {
      let told = String(decoding: event.body, as: UTF8.self)
      let isText = event.synchronizationId == "text"
      #expect(told.contains(isText ? #","customerId":"\#(id)","# : #","cleengCustomerId":7,"customerId":"7","#))
      #expect(told.contains("cleengCustomerId") != isText)
    }
  }

  private func runsOneAtATime(_ fleet: RunningFleet) async throws {
    _ = try await fleet.putCustomer(8)
    // The worker stands still, so the job waits for as long as these requests take. If that is long, a sweep finds it.
    // None had anything to do before.
    #expect(await fleet.neededRepairs() == [])
    fleet.sweptWays.insert(.jobs)
    let worker = try #require(fleet.roles["worker-1"]).process
    worker.send(SIGSTOP)
    let transaction = "1000000000041"
    #expect(try await fleet.register(transaction, customer: 7, id: "running").status == 202)
    let conflict = try await fleet.register(transaction, customer: 7)
    #expect(conflict.status == 409)
    #expect(conflict.header("content-type") == "application/problem+json")
    let text = String(decoding: conflict.body, as: UTF8.self)
    #expect(text.contains("\"code\":\"SK2C0101\""))
    #expect(text.contains("The resource is temporarily locked due to a concurrent request."))
    #expect(text.contains("/storekit2/purchases/synchronizations/running"))

    // A customer's token acts for that customer only.
    let token = jwt(customer: 8, publisher: RunningFleet.publisher)
    let bearer = [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")]
    func post(_ customer: Int64, _ transaction: String) async throws -> HTTPClientResponse {
      try await fleet.send(
        "POST", fleet.url("/purchases"), bearer,
        "{\"cleengCustomerId\":\(customer),\"transactionId\":\"\(transaction)\"}")
    }
    let others = try await post(8, transaction)
    #expect(others.status == 409)
    #expect(!String(decoding: others.body, as: UTF8.self).contains("running"))
    #expect(try await post(7, "1000000000077").status == 403)
    #expect(try await post(8, "1000000000078").status == 202)
    let status = "/purchases/synchronizations/running"
    #expect(try await fleet.send("GET", fleet.url(status), bearer).status == 404)
    #expect(try await fleet.status("running", publisher: RunningFleet.openPublisher) == nil)
    let unfinished = try await fleet.send("GET", fleet.url(status), fleet.headers(RunningFleet.publisher))
    #expect(unfinished.header("retry-after") == "1")
    #expect(try await fleet.send("GET", fleet.url("/customers/7"), bearer).status == 403)

    // Another tenant's registration of the same transaction neither sees this one nor waits for it.
    let other = try await fleet.register(transaction, publisher: RunningFleet.openPublisher, id: "other")
    #expect(other.status == 202)
    worker.send(SIGCONT)
    _ = try await fleet.finished(["running", "other"])
    #expect(try await fleet.register(transaction, customer: 7, id: "again").status == 202)
  }

  private func refusesMistakes(_ fleet: RunningFleet) async throws {
    let good = "{\"cleengCustomerId\":7,\"transactionId\":\"1000000000001\"}"
    let headers = fleet.headers(RunningFleet.publisher)
    func check(
      _ method: String, _ path: String, _ headers: [(name: String, value: String)], _ body: String?, _ status: Int,
      _ code: String
    ) async throws {
      let answer = try await fleet.send(method, fleet.url(path), headers, body)
      #expect(answer.status == status, "\(method) \(path)")
      #expect(answer.header("content-type") == "application/problem+json")
      struct Body: Decodable {
        let code: String
        let status: Int
      }
      let problem = try JSONDecoder().decode(Body.self, from: Data(answer.body))
      #expect(problem.code == code, "\(method) \(path)")
      #expect(problem.status == status)
    }
    let purchases = "/storekit2/purchases"
    try await check("POST", purchases, headers, "{", 400, "REQ0001")
    try await check("POST", purchases, headers, "{\"cleengCustomerId\":7}", 400, "REQ0001")
    try await check("POST", purchases, headers, "{\"cleengCustomerId\":7,\"transactionId\":\"abc\"}", 400, "REQ0001")
    try await check(
      "POST", purchases, headers + [("Correlation-Id", String(repeating: "x", count: 257))], good, 400, "REQ0004")
    try await check("POST", purchases, [("Content-Type", "application/json")], good, 401, "AUTH0001")
    try await check(
      "POST", purchases, [("X-Publisher-Token", "wrong"), ("Content-Type", "application/json")], good, 401, "AUTH0002"
    )
    try await check("POST", purchases, [headers[0], ("Content-Type", "text/plain")], good, 415, "REQ0415")
    try await check("POST", purchases, headers, String(repeating: " ", count: 20_000), 413, "REQ0413")
    try await check(
      "POST", purchases, headers, "{\"cleengCustomerId\":99,\"transactionId\":\"1000000000001\"}", 422, "SK2C0100")
    try await check(
      "POST", purchases, fleet.headers(RunningFleet.inactivePublisher), good, 500, "SK2C0004")
    try await check("GET", purchases, headers, nil, 405, "REQ0405")
    try await check("GET", "/nowhere", headers, nil, 404, "REQ0100")
    try await check("GET", purchases + "/synchronizations/none", headers, nil, 404, "REQ0100")
    try await check("GET", purchases + "/synchronizations/%20", headers, nil, 400, "REQ0003")
    try await check("PUT", "/customers/a%01b", headers, "{}", 400, "REQ0003")
    try await check("GET", "/customers/99", headers, nil, 404, "REQ0100")
    let method = try await fleet.send("DELETE", fleet.url(purchases), headers)
    #expect(method.header("allow") == "POST")

    let put = try await fleet.send("PUT", fleet.url("/customers/9"), headers, "{\"email\":\"a@example.com\"}")
    #expect(put.status == 201)
    #expect(try await fleet.putCustomer(9).status == 200)
    #expect(try await fleet.send("DELETE", fleet.url("/customers/9"), headers).status == 200)
    #expect(try await fleet.send("DELETE", fleet.url("/customers/9"), headers).status == 404)
  }

  @Test func `a trace goes from the request to the event and the webhook`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1", "notifier-1"]) { fleet in
      let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
      let answer = try await fleet.send(
        "POST", fleet.url("/purchases"),
        fleet.headers(RunningFleet.publisher) + [("traceparent", "00-\(trace)-00f067aa0ba902b7-01")],
        "{\"cleengCustomerId\":7,\"transactionId\":\"1000000000001\"}")
      #expect(answer.status == 202)
      let event = try await fleet.events.wait(for: 1)[0]
      let webhook = try await fleet.webhooks.wait(for: 1)[0]
      for carried in [event.traceparent, webhook.traceparent] {
        #expect(carried.hasPrefix("00-\(trace)-"))
        #expect(carried.hasSuffix("-01"))
      }
      try await eventually("the logs name the trace") {
        ["gateway-1", "worker-1", "notifier-1"].allSatisfy { fleet.log($0).contains(trace) }
      }
      // No role has written a secret to its log.
      for name in fleet.roles.keys {
        for secret in [RunningFleet.tokens[RunningFleet.publisher]!, "whsec_", "Bearer ", "eyJ"] {
          #expect(!fleet.log(name).contains(secret), "\(name)")
        }
      }
    }
  }

  @Test func `a webhook endpoint that fails gets the same event again`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1", "notifier-1"]) { fleet in
      fleet.webhookStatus = { [500, 302, 200][min($0, 3) - 1] }
      let accepted = try await fleet.register("1000000000001", id: "a")
      #expect(accepted.status == 202)
      let webhooks = try await fleet.webhooks.wait(for: 3)
      #expect(Set(webhooks.map(\.id)).count == 1)
      #expect(!webhooks.contains { !$0.isVerified })
      let event = try await fleet.finished(["a"])[0]
      #expect(webhooks[0].id == event.id)
    }
  }

  private func readsPublishersAnew(_ fleet: RunningFleet) async throws {
    func answer(_ token: String) async throws -> Int {
      try await fleet.send("GET", fleet.url("/customers/7"), [("X-Publisher-Token", token)]).status
    }
    #expect(try await answer("token-1004") == 401)
    try fleet.writePublisher(1004, "\"customers\": \"open\"")
    fleet.roles["gateway-1"]?.process.send(SIGHUP)
    try await eventually("the new publisher is known") { try await answer("token-1004") == 404 }
    try fleet.writePublisher(1004, "\"customers\": \"closed\"")
    fleet.roles["gateway-1"]?.process.send(SIGHUP)
    try await eventually("the mistake is logged") { fleet.log("gateway-1").contains("still using the old file") }
    #expect(fleet.log("gateway-1").contains("expected one of registered, open"))
    #expect(try await answer("token-1004") == 404)
  }
}
