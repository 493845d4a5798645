import AMQP
import Domain
import EventLoop
import Fleets
import HTTP
import Messaging
import ServerSupport
import Simulator
import TestSupport
import Testing

/// What a console shows of its fleet, and what an operator does with many things at once.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct ConsoleFleetTests {
  private typealias Fields = [(name: String, value: String)]
  private static let (preview, confirm): (Fields, Fields) = (
    [(name: "step", value: "preview")], [(name: "step", value: "confirm")]
  )

  private func audit(_ fleet: RunningFleet, _ like: String) async throws -> [String] {
    try await fleet.texts(
      """
      SELECT concat_ws(' ', action, actor, publisher_id, convert_from(detail, 'UTF8')::json->>'count') AS text FROM audit WHERE action LIKE '\(like)'
      ORDER BY id
      """)
  }

  /// The hidden fields of a preview's form.
  private func fields(_ names: [String], _ page: String) throws -> Fields {
    try names.map { (name: $0, value: try ConsoleTests().hidden($0, page)) } + Self.confirm
  }

  @Test func `an operator sees each process, and which one is gone`() async throws {
    let console = ConsoleTests()
    try await console.withConsole(beside: ["gateway-1", "worker-1", "notifier-1"]) { fleet in
      let (op, ada) = (try await console.signIn(fleet, "op"), try await console.signIn(fleet, "ada"))
      try await eventually("each process has told") {
        let page = try await op.get("/fleet").text
        return ["gateway", "worker", "notifier", "console"].allSatisfy { page.contains("<td>\($0)</td>") }
          && page.contains(" jobs</td>") && page.contains(".jobs.bulk</code>")
      }
      // Until a worker has read Apple's history once, that is an alarm.
      try await eventually("each is well") {
        try await op.get("/fleet").text.contains("each process says that it is well")
      }
      let seen = try await ada.get("/fleet")
      #expect(seen.status == 200 && seen.text.contains("Only operators who see all publishers"))
      #expect(!seen.text.contains(" jobs</td>"))
      let live = try await fleet.send("GET", fleet.url("/fleet?live=1", gateway: "console-1"), [("Cookie", op.cookie)])
      #expect(live.header("refresh") == "5" && live.status == 200)
      // It loads itself again, so the script must not.
      #expect(!String(decoding: live.body, as: UTF8.self).contains("<script"))
      // A process that stops says so; one that dies falls silent.
      await fleet.kill("notifier-1")
      try await eventually("it is silent") {
        let page = try await op.get("/fleet").text
        return page.contains("silent for") && page.contains("CountersignRoleDown")
      }
      let json = try await op.get("/fleet.json").text
      #expect(json.contains(#""isSilent":true"#) && json.contains("docs/operate/runbooks/role-down.md"), "\(json)")
    }
  }

  @Test func `a page names the app whose key Apple refuses, and where processes differ`() async throws {
    let console = ConsoleTests()
    try await console.withConsole(["COUNTERSIGN_LOG_CUSTOMERS": "none"]) { fleet in
      let (op, other) = (try await console.signIn(fleet, "op"), try await console.signIn(fleet, "other"))
      try await eventually("a worker tells that no key is refused") {
        let page = try await other.get("/configuration").text
        return page.contains("no refusal is known") && !page.contains("no worker reports")
      }
      try await eventually("the console tells its own settings") {
        try await op.get("/configuration").text.contains("<code>console.usersFile</code>")
      }
      let settings = try await op.get("/configuration").text
      #expect(settings.contains("<code>log.customers</code>") && settings.contains("differs"), "\(settings)")
      for secret in ["postgresql://", "amqp://", "redis://", "passwordFile"] {
        #expect(!settings.contains(secret), "\(secret)")
      }
      #expect(try await !other.get("/configuration").text.contains("Settings in effect"))

      fleet.simulator.weather = .unauthorized
      let publisher = RunningFleet.openPublisher
      #expect(try await fleet.register("1000000000002", publisher: publisher, id: "waits").status == 202)
      try await eventually("the page names the app") {
        try await other.get("/configuration").text.contains("refused</span> in Production since")
      }
      let json = try await other.get("/configuration.json").text
      #expect(json.contains(#""refusals":[{"cause":"#) && !json.contains("\"settings\""), "\(json)")
      try await eventually("so does the alarm") {
        try await op.get("/fleet").text.contains("com.example.app of publisher 1002")
      }
      fleet.simulator.weather = .fair
      try await eventually("the page forgets it") {
        try await !other.get("/configuration").text.contains("refused</span> in Production")
      }
      _ = try await fleet.finished(["waits"])
    }
  }

  @Test func `support tries all that wait for one reason, as they were counted`() async throws {
    let console = ConsoleTests()
    try await console.withConsole(
      overrides: [
        "COUNTERSIGN_WORKER_RETRY_SCHEDULE_SECONDS": "3600", "COUNTERSIGN_WORKER_SWEEP_INTERVAL_SECONDS": "1",
      ]
    ) { fleet in
      fleet.simulator.weather = .failing
      let ids = (2...4).map { "wait-\($0)" }
      for (place, id) in ids.enumerated() {
        #expect(try await fleet.register("100000000000\(place + 2)", id: id).status == 202)
      }
      try await eventually("they wait") {
        try await fleet.command(["jobs", "list", "--cause", "apple_error"]).hasSuffix("{\"matching\":3}\n")
      }
      let path = "/synchronizations/retry"
      let cause = [(name: "cause", value: "apple_error"), (name: "publisher", value: "")]
      let (ada, other) = (try await console.signIn(fleet, "ada"), try await console.signIn(fleet, "other"))
      let viewer = ConsoleTests.Form(fleet: fleet, browser: try await console.signIn(fleet, "vic"))
      try await eventually("they wait in the ledger, too") {
        let list = try await ada.get("/synchronizations").text
        return ids.allSatisfy { list.contains("href=\"/synchronizations/1001/\($0)\"") }
      }
      #expect(try await viewer.post(path, cause + Self.preview).status == 403)
      let stranger = ConsoleTests.Form(fleet: fleet, browser: other)
      #expect(try await stranger.post(path, cause + Self.preview).status == 409)
      #expect(
        try await stranger.post(path, [(name: "cause", value: "apple_error"), (name: "publisher", value: "1001")])
          .status == 404)
      let form = ConsoleTests.Form(fleet: fleet, browser: ada)
      let none = try await form.post(path, [(name: "cause", value: "unauthorized")] + Self.preview)
      #expect(none.status == 409 && none.text.contains("role=\"alert\""), "\(none.text)")
      #expect(none.text.contains("None waits for this reason now.") && none.text.contains("wait-2"))
      let unknown = try await form.post(path, [(name: "cause", value: "other")] + Self.preview)
      #expect(unknown.status == 400 && unknown.text.contains("role=\"alert\"") && unknown.text.contains("wait-2"))
      // The list has a filter for the same reasons.
      for (question, count) in [("", 3), ("?cause=apple_error", 3), ("?cause=unauthorized", 0), ("?cause=lost", 0)] {
        let list = try await ada.get("/synchronizations\(question)")
        #expect(list.status == 200, "\(question)")
        #expect(
          list.text.ranges(of: "href=\"/synchronizations/1001/wait-").count == count, "\(question)")
      }
      let json = try await ada.get("/synchronizations.json?cause=apple_error").text
      #expect(json.ranges(of: #""cause":"apple_error""#).count == 3, "\(json)")
      #expect(try await other.get("/synchronizations?cause=apple_error").text.contains("None waits for this reason"))
      #expect(try await ada.get("/synchronizations?cause=other").status == 400)
      #expect(try await form.post(path, cause + Self.preview, []).status == 403)
      let asked = try await form.post(path, cause + Self.preview)
      #expect(asked.status == 200 && asked.text.contains("Try 3 now?"), "\(asked.text)")
      // One more comes after the count: it is not meant.
      #expect(try await fleet.register("1000000000009", id: "late").status == 202)
      try await eventually("it waits, too") {
        try await fleet.command(["jobs", "list", "--cause", "apple_error"]).hasSuffix("{\"matching\":4}\n")
      }
      fleet.simulator.weather = .fair
      let confirmed = try fields(["cause", "publisher", "count", "until"], asked.text)
      #expect(try await form.post(path, confirmed).location == "/synchronizations")
      _ = try await fleet.finished(Set(ids))
      #expect(try await fleet.command(["jobs", "list"]).hasSuffix("{\"matching\":1}\n"))
      #expect(try await audit(fleet, "jobs.%") == ["jobs.retried operator:ada 1001 3"])
      #expect(try await form.post(path, confirmed).status == 409)
    }
  }

  @Test func `support tries again what was given up, and only an operator drops it`() async throws {
    let console = ConsoleTests()
    try await console.withConsole { fleet in
      let job = Job(
        synchronizationId: "dead", publisherId: RunningFleet.publisher, customerId: "7", transactionId: "1000000000042",
        registeredAt: 1_700_000_000_000)
      let malformed = AMQPMessage(
        exchange: "", routingKey: fleet.topology.deadJobs, messageID: "m",
        headers: ["countersign-reason": "not a job: the body is not JSON <b>"], body: [0x7b])
      try await fleet.send([JobMessage.message(job, attempt: 51, queue: fleet.topology.deadJobs), malformed])
      let ada = try await console.signIn(fleet, "ada")
      let (op, other) = (try await console.signIn(fleet, "op"), try await console.signIn(fleet, "other"))
      let list = try await ada.get("/dead")
      #expect(list.status == 200 && list.text.contains("1000000000042") == false && list.text.contains("unknown"))
      #expect(list.text.contains("href=\"/customers/1001/7\""), "\(list.text)")
      // Nobody can say whose it is, so it is for who sees all publishers.
      #expect(!list.text.contains("not a job"))
      let all = try await op.get("/dead").text
      #expect(all.contains("not a job: the body is not JSON &lt;b&gt;"), "\(all)")
      #expect(try await other.get("/dead").text.contains("Nothing was given up"))
      #expect(try await op.get("/dead?kind=deliveries").text.contains("Nothing was given up"))
      #expect(try await op.get("/dead?kind=notifications").text.contains("Nothing was given up"))
      #expect(try await op.get("/dead?kind=others").status == 400)

      let jobs = [(name: "kind", value: "jobs")]
      let (form, owner) = (
        ConsoleTests.Form(fleet: fleet, browser: ada), ConsoleTests.Form(fleet: fleet, browser: op)
      )
      #expect(try await form.post("/dead/drop", jobs + Self.preview).status == 403)
      #expect(try await form.post("/dead/retry", jobs + Self.preview, []).status == 403)
      let stranger = ConsoleTests.Form(fleet: fleet, browser: other)
      #expect(try await stranger.post("/dead/retry", jobs + Self.preview).status == 409)
      #expect(
        try await stranger.post("/dead/retry", jobs + [(name: "publisher", value: "1001")] + Self.preview).status == 404
      )
      let asked = try await form.post("/dead/retry", jobs + Self.preview)
      #expect(asked.status == 200 && asked.text.contains("Try one again?"), "\(asked.text)")
      let names = ["kind", "cause", "publisher", "id", "endpoint", "count", "until"]
      #expect(try await form.post("/dead/retry", try fields(names, asked.text)).location == "/dead?kind=jobs")
      _ = try await fleet.finished(["dead"])

      let drop = try await owner.post("/dead/drop", jobs + [(name: "cause", value: "malformed")] + Self.preview)
      #expect(drop.status == 200 && drop.text.contains("Drop one?"), "\(drop.text)")
      #expect(try await owner.post("/dead/drop", try fields(names, drop.text)).location == "/dead?kind=jobs")
      #expect(try await op.get("/dead").text.contains("Nothing was given up"))
      #expect(
        try await audit(fleet, "dead.%") == ["dead.retried operator:ada 1001 1", "dead.buried operator:op 0 1"])
    }
  }

  @Test func `somebody plays a life, and sees what becomes of it here`() async throws {
    let console = ConsoleTests()
    try await console.withConsole(["COUNTERSIGN_CONSOLE_PLAYS_LIVES": "true"]) { fleet in
      let posting = await fleet.simulator.control(
        "PUT", "/simulator/notifications",
        "{\"urls\": [\"\(fleet.url("/apple/notifications"))\"], \"version\": 2, \"password\": \"\(RunningFleet.sharedSecret)\"}"
      )
      #expect(posting.status == 200)
      let ada = try await console.signIn(fleet, "ada")
      let form = ConsoleTests.Form(fleet: fleet, browser: ada)
      #expect(try await fleet.putCustomer("player").status == 201)
      let start = try await ada.get("/play")
      #expect(start.status == 200 && start.text.contains("Play a life"), "\(start.text)")
      let open = try #require(start.text.firstRange(of: "<option value=\"1001 ")).upperBound
      let app = "1001 " + start.text[open...].prefix { $0 != "\"" }
      let fields: Fields = [
        (name: "app", value: app), (name: "product", value: "monthly"), (name: "customer", value: "player"),
        (name: "grace", value: "16"),
      ]
      let viewer = ConsoleTests.Form(fleet: fleet, browser: try await console.signIn(fleet, "vic"))
      let other = ConsoleTests.Form(fleet: fleet, browser: try await console.signIn(fleet, "other"))
      #expect(try await viewer.post("/play/start", fields).status == 403)
      #expect(try await other.post("/play/start", fields).status == 404)
      #expect(try await form.post("/play/start", fields, []).status == 403)
      var unknown = fields
      unknown[2].value = "nobody"
      #expect(try await form.post("/play/start", unknown).text.contains("has no customer with this id"))
      let began = try await form.post("/play/start", fields)
      #expect(began.status == 303, "\(began.text)")
      let address = try #require(began.location)
      #expect(address.hasPrefix("/play/1001/2") && address.hasSuffix("?customer=player"))
      let page = String(address.prefix { $0 != "?" })
      #expect(try await other.browser.get(address).status == 404)
      try await eventually("it is known here") { try await ada.get(address).text.contains("Give it to player") }

      let transfer = "/purchases/1001/Production/" + page.dropFirst("/play/1001/".count) + "/transfer"
      let to = [(name: "to", value: "player")]
      let asked = try await form.post(transfer, to + Self.preview)
      #expect(asked.status == 200 && asked.text.contains("Transfer"), "\(asked.text)")
      var given = to + Self.confirm
      for name in ["id", "seen", "transactionId"] {
        given.append((name: name, value: try console.hidden(name, asked.text)))
      }
      #expect(try await form.post(transfer, given).status == 303)
      #expect(try await ada.get(address).text.contains("href=\"/customers/1001/player\""))
      #expect(try await form.post("\(page)/renew", to).status == 400)
      let customer = [(name: "customer", value: "player")]
      #expect(try await viewer.post("\(page)/refund", customer).status == 403)
      #expect(try await form.post("\(page)/recover", customer).status == 409)
      let onDemand = customer + [(name: "live", value: "1")]
      #expect(try await form.post("\(page)/disable-renewal", onDemand).location == address + "&live=1")
      #expect(try await form.post("\(page)/refund", customer).location == address)
      try await eventually("access ends") {
        try await ada.get("/customers/1001/player").text.contains("No access")
      }
      #expect(try await ada.get(address).text.contains("At Apple: refunded"))
      #expect(try await form.post("/play/1001/2999/refund", customer).status == 503)
    }
  }

  @Test func `nobody plays lives at Apple`() async throws {
    let console = ConsoleTests()
    try await console.withConsole { fleet in
      let ada = try await console.signIn(fleet, "ada")
      #expect(try await ada.get("/play").status == 404)
      #expect(try await !ada.get("/").text.contains("Play a life"))
    }
  }
}
