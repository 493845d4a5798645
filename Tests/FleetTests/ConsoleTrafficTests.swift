import Domain
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

/// What goes out of a running fleet and comes into it, at its console.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct ConsoleTrafficTests {
  private typealias Fields = [(name: String, value: String)]
  private static let (preview, confirm): (Fields, Fields) = (
    [(name: "step", value: "preview")], [(name: "step", value: "confirm")]
  )

  private func actions(_ fleet: RunningFleet, _ like: String) async throws -> [String] {
    try await fleet.texts(
      "SELECT concat_ws(' ', action, actor, publisher_id) AS text FROM audit WHERE action LIKE '\(like)' ORDER BY id")
  }

  @Test func `support sees what an endpoint answers, and sends events again`() async throws {
    let console = ConsoleTests()
    try await console.withConsole(
      beside: ["gateway-1", "worker-1", "notifier-1"],
      overrides: [
        "COUNTERSIGN_NOTIFIER_RETRY_SCHEDULE_SECONDS": "0.2", "COUNTERSIGN_NOTIFIER_SWEEP_INTERVAL_SECONDS": "0.5",
      ]
    ) { fleet in
      // A console has no broker: a notifier's sweep is the way of what it sends again, and no repair.
      fleet.sweptWays = [.deliveries]
      let first = try await fleet.webhooks.wait(for: 1)[0]
      fleet.webhookStatus = { _ in 500 }
      #expect(try await fleet.register("1000000000002", id: "second").status == 202)
      let told = try await fleet.finished(["second"])
      let event = try #require(told.first { $0.synchronizationId == "second" }).id
      let (ada, other) = (try await console.signIn(fleet, "ada"), try await console.signIn(fleet, "other"))
      let (viewer, operators) = (try await console.signIn(fleet, "vic"), try await console.signIn(fleet, "op"))
      try await eventually("the event is given up") {
        try await ada.get("/endpoints/1001/main?outcome=abandoned").text.contains(event)
      }
      let list = try await ada.get("/endpoints")
      #expect(
        list.status == 200 && list.text.contains("href=\"/endpoints/1001/main\"") && list.text.contains("failing"))
      let json = try await ada.get("/endpoints.json?publisher=1001")
      #expect(json.status == 200 && json.text.contains(#""endpointId":"main""#), "\(json.text)")
      let endpoint = try await ada.get("/endpoints/1001/main")
      #expect(endpoint.text.contains("Every attempt has failed since") && endpoint.text.contains(first.id))
      #expect(try await ada.get("/endpoints/1001/main?outcome=wrong").status == 400)
      #expect(try await ada.get("/endpoints/1001/nobody").status == 404)
      // Its path may be a secret.
      let url = "<code>\(fleet.webhookURL)</code>"
      #expect(!endpoint.text.contains(url) && endpoint.text.contains(url.replacing("/hook", with: "")))
      #expect(try await operators.get("/endpoints/1001/main").text.contains(url))

      #expect(try await ada.get("/find?q=\(event)").location == "/events/1001/\(event)")
      let page = try await ada.get("/events/1001/\(event)")
      #expect(page.status == 200 && page.text.contains("href=\"/customers/1001/7\""))
      #expect(page.text.contains("abandoned") && page.text.contains("/main/resend"))
      let seen = try await viewer.get("/events/1001/\(event)")
      #expect(seen.status == 200 && !seen.text.contains("/customers/1001/7") && !seen.text.contains("resend"))
      for path in [
        "/endpoints/1001/main", "/events/1001/\(event)", "/events.json/1001/\(event)", "/endpoints?publisher=1001",
      ] {
        #expect(try await other.get(path).status == 404, "\(path)")
      }

      let (recover, resend) = ("/endpoints/1001/main/recover", "/events/1001/\(event)/main/resend")
      let since = [(name: "since", value: "2020-01-01")]
      for path in [recover, resend] {
        let strangers = [(viewer, 403), (other, 404)]
        for (stranger, status) in strangers {
          let form = ConsoleTests.Form(fleet: fleet, browser: stranger)
          #expect(try await form.post(path, since + Self.confirm).status == status, "\(path)")
        }
      }
      let form = ConsoleTests.Form(fleet: fleet, browser: ada)
      #expect(try await form.post(recover, since + Self.confirm, []).status == 403)
      let wrong = try await form.post(recover, [(name: "since", value: "<u>")])
      #expect(
        wrong.status == 400 && wrong.text.contains("role=\"alert\"") && wrong.text.contains("value=\"&lt;u&gt;\""))
      #expect(wrong.text.contains("Choose the first day") && wrong.text.contains("Attempts"), "\(wrong.text)")
      let asked = try await form.post(recover, since + Self.preview)
      #expect(asked.status == 200 && asked.text.contains("Send 1 event"), "\(asked.text)")
      #expect(try await actions(fleet, "event%") == [])
      fleet.webhookStatus = { _ in 200 }
      #expect(try await form.post(recover, since + Self.confirm).location == "/endpoints/1001/main")
      try await eventually("the event is delivered") {
        try await ada.get("/endpoints/1001/main?outcome=delivered").text.contains(event)
      }
      #expect(try await form.post(recover, since + Self.preview).text.contains("has missed nothing"))

      let count = fleet.webhooks.all.count
      let again = try await form.post(resend, Self.preview)
      #expect(again.status == 200 && again.text.contains("Send the event again?"), "\(again.text)")
      let round = [(name: "round", value: try console.hidden("round", again.text))]
      // A form that is sent twice sends the event once.
      for _ in 1...2 {
        #expect(try await form.post(resend, round + Self.confirm).location == "/events/1001/\(event)")
      }
      let got = try await fleet.webhooks.wait(for: count + 1)
      #expect(got[count].id == event && got[count].isVerified)
      let malformed = try await form.post(resend, Self.confirm)
      #expect(malformed.status == 400 && malformed.text.contains("role=\"alert\"") && malformed.text.contains(event))
      #expect(
        try await actions(fleet, "event%") == ["events.recovered operator:ada 1001", "event.resent operator:ada 1001"])
    }
  }

  @Test func `support switches an endpoint off and on and tests it, and an operator rotates its secret`() async throws {
    let console = ConsoleTests()
    try await console.withConsole(
      beside: ["gateway-1", "worker-1", "notifier-1"],
      overrides: ["COUNTERSIGN_NOTIFIER_SWEEP_INTERVAL_SECONDS": "0.5"]
    ) { fleet in
      // A console has no broker: a notifier's sweep is the way of a test event, and no repair.
      fleet.sweptWays = [.deliveries]
      _ = try await fleet.webhooks.wait(for: 1)
      let answer = try await fleet.send(
        "POST", fleet.url("/3.1/webhook_endpoints"), fleet.headers(1001),
        "{\"url\":\"\(fleet.webhookURL)\",\"topics\":[\"consentRescinded\"]}")
      let created = String(decoding: answer.body, as: UTF8.self)
      #expect(answer.status == 201, "\(created)")
      let start = try #require(created.firstRange(of: "\"id\":\"")).upperBound
      let page = "/endpoints/1001/" + created[start...].prefix { $0 != "\"" }
      let (ada, operators) = (try await console.signIn(fleet, "ada"), try await console.signIn(fleet, "op"))
      let strangers = [(try await console.signIn(fleet, "vic"), 403), (try await console.signIn(fleet, "other"), 404)]
      for change in ["disable", "enable", "test", "rotate"] {
        for (stranger, status) in strangers {
          let form = ConsoleTests.Form(fleet: fleet, browser: stranger)
          #expect(try await form.post("\(page)/\(change)", Self.confirm).status == status, "\(change)")
        }
      }
      let form = ConsoleTests.Form(fleet: fleet, browser: ada)
      #expect(try await form.post("\(page)/disable", Self.confirm, []).status == 403)
      #expect(try await form.post("/endpoints/1001/main/disable", Self.preview).text.contains("publisher&#39;s file"))
      #expect(try await form.post("\(page)/disable", Self.preview).text.contains("Disable the endpoint?"))
      #expect(try await ada.get(page).text.contains("Gets its events"))
      #expect(try await form.post("\(page)/disable", Self.confirm).location == page)
      #expect(try await ada.get(page).text.contains("Gets nothing: disabled"))
      let off = try await form.post("\(page)/test", Self.confirm)
      #expect(off.status == 409 && off.text.contains("role=\"alert\"") && off.text.contains("Enable it first."))
      #expect(off.text.contains("Attempts"), "\(off.text)")
      #expect(try await form.post("\(page)/enable", Self.preview).text.contains("Enable the endpoint?"))
      #expect(try await form.post("\(page)/enable", Self.confirm).location == page)

      let asked = try await form.post("\(page)/test", Self.preview)
      #expect(asked.status == 200 && asked.text.contains("Send a test event?"), "\(asked.text)")
      let fields = Self.confirm + [(name: "token", value: try console.hidden("token", asked.text))]
      let sent = try await form.post("\(page)/test", fields)
      let prefix = "/events/1001/"
      #expect(sent.location?.hasPrefix(prefix + "evt_") == true, "\(sent.text)")
      let event = String((sent.location ?? "").dropFirst(prefix.count))
      // A form that is sent twice sends the test once.
      #expect(try await form.post("\(page)/test", fields).location == sent.location)
      try await eventually("the test arrives") { fleet.webhooks.all.contains { $0.id == event } }
      try await eventually("the page says so") {
        try await ada.get("/events/1001/\(event)").text.contains("delivered")
      }
      #expect(fleet.webhooks.all.filter { $0.id == event }.count == 1)

      #expect(try await form.post("\(page)/rotate", Self.preview).status == 403)
      let owner = ConsoleTests.Form(fleet: fleet, browser: operators)
      let rotation = try await owner.post("\(page)/rotate", Self.preview)
      #expect(rotation.status == 200 && rotation.text.contains("Rotate the secret?"), "\(rotation.text)")
      let seen =
        Self.confirm + [
          (name: "seen", value: try console.hidden("seen", rotation.text)), (name: "overlap", value: "3600"),
        ]
      let rotated = try await owner.post("\(page)/rotate", seen)
      #expect(rotated.status == 200 && rotated.text.contains("whsec_"), "\(rotated.text)")
      let again = try await owner.post("\(page)/rotate", seen)
      #expect(again.status == 409 && again.text.contains("changed meanwhile") && !again.text.contains("whsec_"))
      let done = try await actions(fleet, "endpoint.%")
      #expect(done.first?.hasPrefix("endpoint.created publisher:") == true)
      #expect(
        done.dropFirst() == [
          "endpoint.disabled operator:ada 1001", "endpoint.enabled operator:ada 1001",
          "endpoint.tested operator:ada 1001", "endpoint.changed operator:op 1001",
        ])
    }
  }

  @Test func `support sees why a registration waits, and lets it try at once`() async throws {
    let console = ConsoleTests()
    try await console.withConsole(
      overrides: [
        "COUNTERSIGN_WORKER_RETRY_SCHEDULE_SECONDS": "3600", "COUNTERSIGN_WORKER_SWEEP_INTERVAL_SECONDS": "1",
      ]
    ) { fleet in
      let (ada, other) = (try await console.signIn(fleet, "ada"), try await console.signIn(fleet, "other"))
      let viewer = try await console.signIn(fleet, "vic")
      #expect(try await ada.get("/synchronizations").text.contains("None waits for long"))
      fleet.simulator.weather = .failing
      #expect(try await fleet.register("1000000000002", id: "waits").status == 202)
      try await eventually("it waits in the ledger") {
        try await ada.get("/synchronizations").text.contains("href=\"/synchronizations/1001/waits\"")
      }
      let list = try await ada.get("/synchronizations")
      #expect(list.text.contains("Apple answers with an error") && list.text.contains("1000000000002"), "\(list.text)")
      #expect(try await ada.get("/synchronizations.json").text.contains(#""cause":"apple_error""#))
      #expect(try await !other.get("/synchronizations").text.contains("waits\""))
      #expect(try await other.get("/synchronizations/1001/waits").status == 404)
      let hidden = try await viewer.get("/synchronizations/1001/waits")
      #expect(hidden.status == 200 && !hidden.text.contains("/customers/") && !hidden.text.contains("/retry"))
      // Its id may be anybody's choice, so it opens nothing by itself.
      #expect(try await ada.get("/find?q=waits").text.contains("href=\"/synchronizations/1001/waits\""))

      let retry = "/synchronizations/1001/waits/retry"
      for (stranger, status) in [(viewer, 403), (other, 404)] {
        let form = ConsoleTests.Form(fleet: fleet, browser: stranger)
        #expect(try await form.post(retry, Self.confirm).status == status)
      }
      let form = ConsoleTests.Form(fleet: fleet, browser: ada)
      let asked = try await form.post(retry, Self.preview)
      #expect(asked.status == 200 && asked.text.contains("Try it now?"), "\(asked.text)")
      fleet.simulator.weather = .fair
      #expect(try await form.post(retry, Self.confirm).location == "/synchronizations/1001/waits")
      _ = try await fleet.finished(["waits"])
      try await eventually("the page says so") {
        try await ada.get("/synchronizations/1001/waits").text.contains("PURCHASE_SYNCHRONIZED")
      }
      #expect(try await form.post(retry, Self.confirm).status == 409)
      #expect(try await actions(fleet, "jobs.%") == ["jobs.retried operator:ada 1001"])
      #expect(try await fleet.metric("worker-1", "countersign_hurried_jobs_total") == 1)
    }
  }

  @Test func `support sees what Apple posted, and what became of it`() async throws {
    let console = ConsoleTests()
    try await console.withConsole { fleet in
      let (ada, other) = (try await console.signIn(fleet, "ada"), try await console.signIn(fleet, "other"))
      let text = try await fleet.minted("notification/1000000000001?type=DID_RENEW")
      let body = "{\"signedPayload\":\"\(text)\"}"
      let json = [(name: "Content-Type", value: "application/json")]
      #expect(try await fleet.send("POST", fleet.url("/apple/notifications"), json, body).status == 200)
      let uuids = try await fleet.texts("SELECT uuid AS text FROM notifications WHERE publisher_id = 1001")
      let uuid = try #require(uuids.first)
      try await eventually("it is applied") {
        try await !ada.get("/notifications/1001/\(uuid)").text.contains("not yet")
      }
      let list = try await ada.get("/notifications")
      #expect(list.status == 200 && list.text.contains("href=\"/notifications/1001/\(uuid)\""), "\(list.text)")
      #expect(list.text.contains("DID_RENEW"))
      let purchase = try #require(try await ada.get("/find?q=1000000000001").location)
      #expect(try await ada.get("/notifications/1001/\(uuid)").text.contains("href=\"\(purchase)\""))
      #expect(try await ada.get("/find?q=\(uuid)").location == "/notifications/1001/\(uuid)")
      #expect(try await ada.get("/notifications.json").text.contains("\"notificationUUID\":\"\(uuid)\""))
      #expect(try await ada.get("/notifications?state=waiting").text.contains("No notification waits"))
      #expect(try await ada.get("/notifications?state=aside").status == 200)
      #expect(try await ada.get("/notifications?state=other").status == 400)
      #expect(try await other.get("/notifications/1001/\(uuid)").status == 404)
      #expect(list.text.contains("Apple&#39;s posts and its history") && list.text.contains("Send a test …"))
      #expect(try await !other.get("/notifications").text.contains("1001/\(uuid)"))
    }
  }
}

/// Apple's test notifications, at the console.
extension ConsoleTrafficTests {
  @Test func `support lets Apple post a test, and sees that it arrives`() async throws {
    let console = ConsoleTests()
    try await console.withConsole(["COUNTERSIGN_APP_STORE_BUDGET_SCALE": "100"]) { fleet in
      let posting = await fleet.simulator.control(
        "PUT", "/simulator/notifications",
        "{\"urls\": [\"\(fleet.url("/apple/notifications"))\"], \"version\": 2, \"password\": \"\(RunningFleet.sharedSecret)\"}"
      )
      #expect(posting.status == 200)
      let (ada, other) = (try await console.signIn(fleet, "ada"), try await console.signIn(fleet, "other"))
      let page = try await ada.get("/notifications").text
      let fields =
        try ["app", "environment"].map { (name: $0, value: try console.hidden($0, page)) } + [
          (name: "publisher", value: "1001")
        ]
      let form = ConsoleTests.Form(fleet: fleet, browser: ada)
      for (stranger, status) in [(try await console.signIn(fleet, "vic"), 403), (other, 404)] {
        let form = ConsoleTests.Form(fleet: fleet, browser: stranger)
        #expect(try await form.post("/notifications/test", fields + Self.confirm).status == status)
      }
      #expect(try await form.post("/notifications/test", fields + Self.confirm, []).status == 403)
      #expect(try await form.post("/notifications/test", Array(fields.dropFirst())).status == 400)
      let asked = try await form.post("/notifications/test", fields + Self.preview)
      #expect(asked.status == 200 && asked.text.contains("Send a test notification?"), "\(asked.text)")
      let sent = try await form.post("/notifications/test", fields + Self.confirm)
      #expect(sent.status == 303, "\(sent.text)")
      let address = try #require(sent.location)
      #expect(try await other.get(address).status == 404)
      try await eventually("it arrives") { try await ada.get(address).text.contains("The test has arrived") }
      try await eventually("it is in the list") { try await ada.get("/notifications").text.contains(">TEST<") }
      #expect(try await ada.get("/notifications/tested?publisher=1001").status == 400)
      #expect(try await actions(fleet, "notifications.%") == ["notifications.tested operator:ada 1001"])
    }
  }
}
