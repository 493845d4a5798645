import Console
import EventLoop
import Fleets
import Formats
import FoundationEssentials
import HTTP
import Postgres
import ServerSupport
import TestSupport
import Testing

/// The console of a running fleet.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct ConsoleTests {
  private static let password = "a long password"
  private static let people = [
    ("ada", "support", "1001"), ("vic", "viewer", "*"), ("other", "support", "1002"), ("op", "operator", "*"),
  ]

  /// The sign-ins of a fleet's console come from 127.0.0.1, or from whom a listed proxy names.
  struct Browser {
    let fleet: RunningFleet
    let cookie: String

    @LoopActor
    func get(_ path: String) async throws -> (status: Int, text: String, location: String?) {
      let answer = try await fleet.send("GET", fleet.url(path, gateway: "console-1"), [("Cookie", cookie)])
      return (answer.status, String(decoding: answer.body, as: UTF8.self), answer.header("location"))
    }
  }

  private func post(
    _ fleet: RunningFleet, _ path: String, _ body: String, _ headers: [(name: String, value: String)]
  ) async throws -> HTTPClientResponse {
    let form = [(name: "Content-Type", value: "application/x-www-form-urlencoded")]
    return try await fleet.send("POST", fleet.url(path, gateway: "console-1"), form + headers, body)
  }

  static let own = [(name: "Sec-Fetch-Site", value: "same-origin")]

  func signIn(_ fleet: RunningFleet, _ name: String) async throws -> Browser {
    let password = PercentCoding.encoded(Self.password)
    let answer = try await post(fleet, "/sign-in", "name=\(name)&password=\(password)&next=", Self.own)
    #expect(answer.status == 303 && answer.header("location") == "/")
    let cookie = try #require(answer.header("set-cookie")?.split(separator: ";").first)
    return Browser(fleet: fleet, cookie: String(cookie))
  }

  private static let usersFile = "/console-users"

  private func write(_ lines: [String], _ fleet: RunningFleet) throws {
    try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: fleet.folder + Self.usersFile))
  }

  /// Runs a fleet with a console and one purchase.
  ///
  /// - Parameters:
  ///   - environment: for the console besides.
  ///   - others: the other roles.
  ///   - overrides: for the whole fleet.
  func withConsole(
    _ environment: [String: String] = [:], beside others: [String] = ["gateway-1", "worker-1"],
    overrides: [String: String] = [:], _ body: @LoopActor (RunningFleet) async throws -> Void
  ) async throws {
    try await RunningFleet.with(others, overrides: overrides) { fleet in
      let lines = try Self.people.map { name, role, publishers in
        try PasswordLine.make(name: name, role: role, publishers: publishers, password: Self.password) ?? ""
      }
      try write(lines, fleet)
      let own = [
        "COUNTERSIGN_CONSOLE_USERS_FILE": fleet.folder + Self.usersFile, "COUNTERSIGN_CONSOLE_LISTEN": "127.0.0.1:0",
        // A busy machine takes longer than two seconds for what nothing holds up.
        "COUNTERSIGN_CONSOLE_STATEMENT_TIMEOUT_SECONDS": "60",
      ]
      try fleet.start("console-1", with: own.merging(environment) { $1 })
      try await fleet.ready("console-1")
      #expect(try await fleet.register("1000000000001", id: "bought").status == 202)
      _ = try await fleet.finished(["bought"])
      try await body(fleet)
    }
  }

  @Test func `support finds a purchase by any id, and sees why there is access`() async throws {
    try await withConsole { fleet in
      let nobody = Browser(fleet: fleet, cookie: "")
      let asked = try await nobody.get("/customers/1001/7")
      #expect(asked.status == 303 && asked.location == "/sign-in?next=%2Fcustomers%2F1001%2F7")
      #expect(try await nobody.get("/customers.json/1001/7").status == 401)
      #expect(try await nobody.get("/metrics").status == 200)

      let ada = try await signIn(fleet, "ada")
      #expect(try await ada.get("/").text.contains("Find by any id"))
      #expect(try await ada.get("/find?q=7").location == "/customers/1001/7")
      let found = try await ada.get("/find?q=1000000000001")
      let purchase = try #require(found.location)
      #expect(purchase.hasPrefix("/purchases/1001/Production/"))
      let customer = try await ada.get("/customers/1001/7")
      #expect(customer.status == 200)
      for words in ["Has access", "subscriptionActive", purchase, "Timeline", "bought"] {
        #expect(customer.text.contains(words), "\(words)")
      }
      let page = try await ada.get(purchase)
      #expect(page.status == 200 && page.text.contains("1000000000001"))
      #expect(page.text.contains("href=\"/customers/1001/7\"") && page.text.contains("Signed data"))
      let twin = try await ada.get(purchase.replacing("/purchases/", with: "/purchases.json/", maxReplacements: 1)).text
      for words in [#""publisherId":"1001""#, #""signedData":[{"from":"#, #""payload":{"#, #""owners":[{"because":"#] {
        #expect(twin.contains(words), "\(words): \(twin)")
      }
      let card = try await ada.get("/customers.json/1001/7")
      #expect(card.status == 200 && card.text.contains("\"accessGranted\":true"), "\(card.text)")
      #expect(try await ada.get("/find?q=nothing-has-it").status == 404)
      for path in ["/customers/1001/a%00b", "/purchases/1001/Production/1%00", "/find?q=a%00b"] {
        #expect(try await ada.get(path).status == 404, "\(path)")
      }
    }
  }

  @Test func `nobody sees another publisher's rows, and a viewer no customer`() async throws {
    try await withConsole { fleet in
      let purchase = try await signIn(fleet, "ada").get("/find?q=1000000000001").location ?? ""
      let other = try await signIn(fleet, "other")
      #expect(try await other.get("/find?q=1000000000001").status == 404)
      #expect(try await other.get("/find?q=bought").status == 404)
      for path in ["/customers/1001/7", purchase, "/customers.json/1001/7"] {
        let answer = try await other.get(path)
        #expect(answer.status == 404 && !answer.text.contains("subscriptionActive"), "\(path)")
      }
      let viewer = try await signIn(fleet, "vic")
      #expect(try await viewer.get("/customers/1001/7").status == 403)
      #expect(try await viewer.get("/customers.json/1001/7").status == 403)
      // The customer chose the synchronization's id: it is a hit, and opens nothing by itself.
      let chosen = try await viewer.get("/find?q=bought")
      #expect(chosen.status == 200 && chosen.location == nil && chosen.text.contains("href=\"\(purchase)\""))
      #expect(try await viewer.get("/find?q=1000000000001").location == purchase)
      let page = try await viewer.get(purchase)
      #expect(page.status == 200 && page.text.contains("hidden from viewers"))
      #expect(!page.text.contains("/customers/1001/7"))
    }
  }

  @Test func `a sign-in needs the password and the console's own page, and ends`() async throws {
    try await withConsole { fleet in
      let right = "name=ada&password=\(PercentCoding.encoded(Self.password))&next="
      #expect(try await post(fleet, "/sign-in", right, []).status == 403)
      #expect(try await post(fleet, "/sign-in", right, [("Origin", "http://evil.example")]).status == 403)
      #expect(try await post(fleet, "/sign-in", "name=ada", Self.own).status == 400)
      for _ in 1...10 {
        #expect(try await post(fleet, "/sign-in", "name=eve&password=wrong", Self.own).status == 401)
      }
      #expect(try await post(fleet, "/sign-in", "name=eve&password=wrong", Self.own).status == 429)
      #expect(try await post(fleet, "/sign-in", "name=ada&password=wrong", Self.own).status == 401)
      let ada = try await signIn(fleet, "ada")
      #expect(try await ada.get("/").status == 200)
      let out = try await post(fleet, "/sign-out", "", Self.own + [("Cookie", ada.cookie)])
      #expect(out.status == 303 && out.header("set-cookie")?.contains("Max-Age=0") == true)
      #expect(try await ada.get("/").status == 303)
      #expect(try await fleet.metric("console-1", #"countersign_console_sign_ins_total{result="tooOften"}"#) == 1)
      let query = "SELECT action FROM audit WHERE action LIKE 'console.%' ORDER BY id"
      let actions = try await fleet.withLedger { ledger in
        try await ledger.run(PostgresQuery(PostgresStatement("console audit in a test", query)))
          .compactMap { try $0.text("action") }
      }
      // Eve is nobody. Her name is not in the log, and her attempts cost the same.
      #expect(actions == Array(repeating: "console.refused", count: 11) + ["console.signedIn"])
    }
  }

  @Test func `support finds a purchase by the order id of Apple's receipt`() async throws {
    try await withConsole { fleet in
      let ada = try await signIn(fleet, "ada")
      let form = Form(fleet: fleet, browser: ada)
      // A search alone asks Apple nothing: the person does.
      let search = try await ada.get("/find?q=M1000000000001")
      #expect(search.status == 404 && search.text.contains("Ask Apple"), "\(search.text)")
      let purchase = try #require(try await ada.get("/find?q=1000000000001").location)
      let fields = [(name: "order", value: "m1000000000001"), (name: "publisher", value: "1001")]
      let found = try await form.post("/orders", fields)
      #expect(found.status == 303 && found.location == purchase, "\(found.text)")
      let two = [(name: "order", value: "M1000000000001M1100000000009"), (name: "publisher", value: "1001")]
      let order = try await form.post("/orders", two)
      #expect(order.status == 200 && order.text.contains("href=\"\(purchase)\""), "\(order.text)")
      #expect(order.text.contains("1100000000009") && order.text.contains("not known here"))
      let none = [(name: "order", value: "MK5TTTVWJH"), (name: "publisher", value: "1001")]
      #expect(try await form.post("/orders", none).status == 404)

      #expect(try await form.post("/orders", [(name: "order", value: "M1/2")]).status == 400)
      #expect(try await form.post("/orders", fields, []).status == 403)
      let elsewhere = [(name: "order", value: "M1000000000001"), (name: "publisher", value: "1002")]
      #expect(try await form.post("/orders", elsewhere).status == 404)
      let viewer = Form(fleet: fleet, browser: try await signIn(fleet, "vic"))
      #expect(try await viewer.post("/orders", fields).status == 403)
      let nobody = Form(fleet: fleet, browser: Browser(fleet: fleet, cookie: ""))
      #expect(try await nobody.post("/orders", fields).location?.hasPrefix("/sign-in") == true)
      let labels = #"{endpoint="order-lookup",environment="Production",outcome="ok"}"#
      #expect(try await fleet.metric("console-1", "countersign_apple_call_duration_seconds_count\(labels)") == 3)
    }
  }

  struct Form {
    let fleet: RunningFleet
    let browser: Browser

    /// Posts a form, and returns the page.
    @LoopActor
    func post(
      _ path: String, _ fields: [(name: String, value: String)],
      _ headers: [(name: String, value: String)] = ConsoleTests.own
    ) async throws -> (status: Int, text: String, location: String?) {
      let body = fields.map { "\($0.name)=\(PercentCoding.encoded($0.value))" }.joined(separator: "&")
      let answer = try await fleet.send(
        "POST", fleet.url(path, gateway: "console-1"),
        [("Content-Type", "application/x-www-form-urlencoded"), ("Cookie", browser.cookie)] + headers, body)
      return (answer.status, String(decoding: answer.body, as: UTF8.self), answer.header("location"))
    }
  }

  /// The value of a hidden field of a page.
  func hidden(_ name: String, _ page: String) throws -> String {
    let start = try #require(page.firstRange(of: "name=\"\(name)\" value=\"")).upperBound
    return String(page[start...].prefix { $0 != "\"" })
  }

  @Test func `support grants access by hand and withdraws it, and nobody else does`() async throws {
    try await withConsole { fleet in
      // A console has no broker: the look at the outbox is the way of its events, and no repair.
      fleet.sweptWays = [.outbox]
      let (path, tomorrow) = ("/customers/1001/7/grants", Date(timeIntervalSinceNow: 86_400).ISO8601Format().prefix(10))
      let wish = [
        (name: "offerId", value: "S2"), (name: "until", value: String(tomorrow)), (name: "reason", value: "goodwill"),
        (name: "note", value: "Ticket 4711"),
      ]
      let confirm = [(name: "step", value: "confirm"), (name: "grantId", value: UUID().uuidString.lowercased())]
      let (viewer, other) = (try await signIn(fleet, "vic"), try await signIn(fleet, "other"))
      #expect(try await Form(fleet: fleet, browser: viewer).post(path, wish + confirm).status == 403)
      #expect(try await Form(fleet: fleet, browser: other).post(path, wish + confirm).status == 404)
      let nobody = Form(fleet: fleet, browser: Browser(fleet: fleet, cookie: ""))
      #expect(try await nobody.post(path, wish + confirm).location == "/sign-in?next=%2Fcustomers%2F1001%2F7")

      let support = try await signIn(fleet, "ada")
      let form = Form(fleet: fleet, browser: support)
      #expect(try await form.post(path, wish + confirm, [("Origin", "http://evil.example")]).status == 403)
      #expect(try await support.get(path).status == 405)
      #expect(try await fleet.texts("SELECT id AS text FROM grants") == [])
      // A preview changes nothing.
      let preview = try await form.post(path, wish + [(name: "step", value: "preview")])
      #expect(preview.status == 200 && preview.text.contains("Grant access?"), "\(preview.text)")
      #expect(try await fleet.texts("SELECT id AS text FROM grants") == [])
      let id = try hidden("grantId", preview.text)
      let sure = wish + [(name: "step", value: "confirm"), (name: "grantId", value: id)]
      // A form that is sent twice gives one grant.
      for _ in 1...2 {
        let given = try await form.post(path, sure)
        #expect(given.status == 303 && given.location == "/customers/1001/7", "\(given.text)")
      }
      #expect(try await fleet.texts("SELECT id AS text FROM grants") == [id])
      #expect(try await support.get("/customers/1001/7").text.contains("Ticket 4711"))
      // A refused form keeps the page, with what was filled in.
      let changed = wish.map { $0.name == "note" ? (name: $0.name, value: "another note") : $0 }
      let refused = try await form.post(
        path, changed + [(name: "step", value: "confirm"), (name: "grantId", value: id)])
      #expect(refused.status == 409 && refused.text.contains("Not done") && refused.text.contains("another note"))
      let late = try await form.post(path, wish.map { $0.name == "until" ? (name: $0.name, value: "2020-01-01") : $0 })
      #expect(late.status == 400 && late.text.contains("The last day is over."))

      let withdrawal = path + "/\(id)/withdraw"
      #expect(try await Form(fleet: fleet, browser: viewer).post(withdrawal, [confirm[0]]).status == 403)
      #expect(try await Form(fleet: fleet, browser: other).post(withdrawal, [confirm[0]]).status == 404)
      let asked = try await form.post(withdrawal, [(name: "step", value: "preview")])
      #expect(asked.status == 200 && asked.text.contains("Withdraw the grant?"), "\(asked.text)")
      #expect(try await form.post(withdrawal, [confirm[0]]).status == 303)
      // Somebody whose first answer was lost sends the form again. Nothing happens twice.
      #expect(try await form.post(withdrawal, [confirm[0]]).status == 303)
      let over = try await form.post(withdrawal, [(name: "step", value: "preview")])
      #expect(over.status == 409 && over.text.contains("over already"))
      let entries = try await fleet.texts(
        "SELECT concat_ws(' ', action, actor, publisher_id, subject) AS text FROM audit "
          + "WHERE action LIKE 'customer.grant%' ORDER BY id")
      #expect(
        entries == ["customer.granted operator:ada 1001 7", "customer.grantWithdrawn operator:ada 1001 7"])
      // The console has no broker: a worker tells both changes.
      try await eventually("a worker publishes what the console told") {
        try await fleet.texts("SELECT event_id AS text FROM outbox") == []
      }
    }
  }

  @Test func `support gives sandbox access until a date, once, and withdraws it`() async throws {
    try await withConsole { fleet in
      // A console has no broker: the look at the outbox is the way of its events, and no repair.
      fleet.sweptWays = [.outbox]
      let tomorrow = Date(timeIntervalSinceNow: 86_400).ISO8601Format().prefix(10)
      let path = "/customers/1001/7/sandbox"
      let wish = [
        (name: "until", value: String(tomorrow)), (name: "reason", value: "testing"),
        (name: "note", value: "Ticket 4711"),
      ]
      let (asks, confirm) = ([(name: "step", value: "preview")], [(name: "step", value: "confirm")])
      let (viewer, other) = (try await signIn(fleet, "vic"), try await signIn(fleet, "other"))
      for address in [path, path + "/withdraw"] {
        #expect(try await Form(fleet: fleet, browser: viewer).post(address, wish + confirm).status == 403)
        #expect(try await Form(fleet: fleet, browser: other).post(address, wish + confirm).status == 404)
      }
      let support = try await signIn(fleet, "ada")
      let form = Form(fleet: fleet, browser: support)
      #expect(try await form.post(path + "/withdraw", asks).status == 409)
      let preview = try await form.post(path, wish + asks)
      #expect(preview.status == 200 && preview.text.contains("Give sandbox access?"), "\(preview.text)")
      #expect(try await fleet.texts("SELECT set_by AS text FROM sandbox_access") == [])
      for _ in 1...2 {
        let given = try await form.post(path, wish + confirm)
        #expect(given.status == 303 && given.location == "/customers/1001/7", "\(given.text)")
      }
      #expect(try await fleet.texts("SELECT set_by AS text FROM sandbox_access") == ["operator:ada"])
      #expect(try await support.get("/customers/1001/7").text.contains("Ticket 4711"))
      let late = try await form.post(path, wish.map { $0.name == "until" ? (name: $0.name, value: "2020-01-01") : $0 })
      #expect(late.status == 400 && late.text.contains("The last day is over."))
      let asked = try await form.post(path + "/withdraw", asks)
      #expect(asked.status == 200 && asked.text.contains("Withdraw the sandbox access?"), "\(asked.text)")
      for _ in 1...2 { #expect(try await form.post(path + "/withdraw", confirm).status == 303) }
      #expect(try await form.post(path + "/withdraw", asks).status == 409)
      let entries = try await fleet.texts(
        "SELECT concat_ws(' ', action, actor, publisher_id, subject) AS text FROM audit "
          + "WHERE action LIKE 'customer.sandbox%' ORDER BY id")
      #expect(
        entries == [
          "customer.sandboxAccessSet operator:ada 1001 7", "customer.sandboxAccessWithdrawn operator:ada 1001 7",
        ])
    }
  }

  @Test func `support gives a purchase to another customer`() async throws {
    try await withConsole { fleet in
      // A console has no broker: the look at the outbox is the way of its events, and no repair.
      fleet.sweptWays = [.outbox]
      let support = try await signIn(fleet, "ada")
      let purchase = try #require(try await support.get("/find?q=1000000000001").location)
      let ada = Form(fleet: fleet, browser: support)
      let transfer = purchase + "/transfer"
      let (preview, confirm) = ([(name: "step", value: "preview")], [(name: "step", value: "confirm")])
      #expect(try await fleet.putCustomer(8).status == 201)
      let strangers = [(try await signIn(fleet, "vic"), 403), (try await signIn(fleet, "other"), 404)]
      for (stranger, status) in strangers {
        let form = Form(fleet: fleet, browser: stranger)
        #expect(try await form.post(transfer, confirm + [(name: "to", value: "8")]).status == status)
      }
      let question = try await ada.post(transfer, preview)
      #expect(question.status == 200 && question.text.contains("The id of the customer who gets it"))
      let wrong = try await ada.post(transfer, preview + [(name: "to", value: "nobody-has-it")])
      #expect(wrong.status == 404 && wrong.text.contains("no customer with this id"), "\(wrong.text)")
      let own = try await ada.post(transfer, preview + [(name: "to", value: "7")])
      #expect(own.status == 409 && own.text.contains("owns the purchase already"))
      let asked = try await ada.post(transfer, preview + [(name: "to", value: "8")])
      #expect(asked.status == 200 && asked.text.contains("Transfer the purchase?"), "\(asked.text)")
      #expect(asked.text.contains("Whose access changes"))
      #expect(try await support.get("/customers/1001/7").text.contains("Has access"))
      var fields = confirm + [(name: "to", value: "8")]
      for name in ["id", "transactionId", "seen"] { fields.append((name: name, value: try hidden(name, asked.text))) }
      let stale = try await ada.post(transfer, fields + [(name: "subscriptionId", value: "999999")])
      #expect(stale.status == 409 && stale.text.contains("changed its owner meanwhile"), "\(stale.text)")
      fields.append((name: "subscriptionId", value: try hidden("subscriptionId", asked.text)))
      // A form that is sent twice moves the purchase once.
      for _ in 1...2 { #expect(try await ada.post(transfer, fields).location == purchase) }
      #expect(try await support.get("/customers/1001/8").text.contains("Has access"))
      #expect(try await !support.get("/customers/1001/7").text.contains("Has access"))
      try await eventually("a worker publishes what the console told") {
        try await fleet.texts("SELECT event_id AS text FROM outbox") == []
      }
      let entries = try await fleet.texts(
        "SELECT concat_ws(' ', action, actor) AS text FROM audit "
          + "WHERE action = 'purchase.transferred' ORDER BY id")
      #expect(entries == ["purchase.transferred operator:ada"])
    }
  }

  @Test func `support writes a note about a customer, and a viewer sees none`() async throws {
    try await withConsole { fleet in
      let support = try await signIn(fleet, "ada")
      let ada = Form(fleet: fleet, browser: support)
      let path = "/customers/1001/7/notes"
      let (preview, confirm) = ([(name: "step", value: "preview")], [(name: "step", value: "confirm")])
      let text = [(name: "text", value: "called twice\r\nabout <u>Friday</u>")]
      for (stranger, status) in [(try await signIn(fleet, "vic"), 403), (try await signIn(fleet, "other"), 404)] {
        #expect(try await Form(fleet: fleet, browser: stranger).post(path, text + confirm).status == status)
      }
      let empty = try await ada.post(path, [(name: "text", value: " ")] + preview)
      #expect(empty.status == 400 && empty.text.contains("Write the note first."), "\(empty.text)")
      let long = try await ada.post(path, [(name: "text", value: String(repeating: "😀", count: 2001))] + preview)
      #expect(long.status == 400 && long.text.contains("2000 characters"), "\(long.status)")
      let asked = try await ada.post(path, text + preview)
      #expect(asked.status == 200 && asked.text.contains("Keep the note?"), "\(asked.text)")
      #expect(try await fleet.texts("SELECT text FROM customer_notes") == [])
      let id = [(name: "noteId", value: try hidden("noteId", asked.text))]
      // A form that is sent twice keeps one note.
      for _ in 1...2 { #expect(try await ada.post(path, text + id + confirm).location == "/customers/1001/7") }
      #expect(try await fleet.texts("SELECT text FROM customer_notes") == ["called twice\nabout <u>Friday</u>"])
      let page = try await support.get("/customers/1001/7")
      #expect(page.text.contains("about &lt;u&gt;Friday&lt;/u&gt;") && page.text.contains("<code>ada</code>"))
      #expect(try await ada.post("/customers/1001/7/export", confirm).text.contains("called twice"))
      #expect(try await ada.post("/customers/1001/nobody/notes", text + preview).status == 404)
      let entries = try await fleet.texts(
        "SELECT concat_ws(' ', action, actor, subject) AS text FROM audit WHERE action = 'customer.noted'")
      #expect(entries == ["customer.noted operator:ada 7"])
    }
  }

  @Test func `support releases a purchase, and an operator erases its customer`() async throws {
    try await withConsole { fleet in
      // A console has no broker: the look at the outbox is the way of its events, and no repair.
      fleet.sweptWays = [.outbox]
      let support = try await signIn(fleet, "ada")
      let purchase = try #require(try await support.get("/find?q=1000000000001").location)
      let (ada, operators) = (
        Form(fleet: fleet, browser: support), Form(fleet: fleet, browser: try await signIn(fleet, "op"))
      )
      let strangers = [try await signIn(fleet, "vic"), try await signIn(fleet, "other")]
      let (release, export) = (purchase + "/release", "/customers/1001/7/export")
      let (erase, preview, confirm) = (
        "/customers/1001/7/erase", [(name: "step", value: "preview")], [(name: "step", value: "confirm")]
      )
      for (stranger, status) in zip(strangers, [403, 404]) {
        for path in [release, export, erase] {
          #expect(try await Form(fleet: fleet, browser: stranger).post(path, confirm).status == status, "\(path)")
        }
      }
      #expect(try await ada.post(export, [], []).status == 403)
      let asking = try await ada.post(export, preview)
      #expect(asking.status == 200 && asking.text.contains("Export the customer?"), "\(asking.text)")
      #expect(try await fleet.texts("SELECT action AS text FROM audit WHERE action = 'customer.exported'") == [])
      let document = try await ada.post(export, confirm)
      #expect(document.status == 200 && document.text.contains("\"customerId\":\"7\""), "\(document.text)")

      let asked = try await ada.post(release, preview)
      #expect(asked.status == 200 && asked.text.contains("Release the purchase?"), "\(asked.text)")
      let period = (name: "subscriptionId", value: try hidden("subscriptionId", asked.text))
      // Another period of ownership than the one that the person saw is not ended.
      let stale = try await ada.post(release, confirm + [(name: "subscriptionId", value: "999999")])
      #expect(stale.status == 409 && stale.text.contains("Somebody else owns"), "\(stale.text)")
      #expect(try await ada.post(release, confirm + [period]).location == purchase)
      #expect(try await ada.post(release, confirm + [period]).status == 409)
      #expect(try await !support.get("/customers/1001/7").text.contains("Has access"))

      #expect(try await ada.post(erase, confirm + [(name: "customerId", value: "7")]).status == 403)
      #expect(try await operators.post(erase, preview).text.contains("Erase the customer?"))
      let wrong = try await operators.post(erase, confirm + [(name: "customerId", value: "8")])
      #expect(wrong.status == 400 && wrong.text.contains("another id than the page"), "\(wrong.text)")
      let erased = try await operators.post(erase, confirm + [(name: "customerId", value: "7")])
      #expect(erased.status == 200 && erased.text.contains("The customer is erased."), "\(erased.text)")
      let again = try await operators.post(erase, confirm + [(name: "customerId", value: "7")])
      #expect(again.status == 200 && again.text.contains("Nothing is kept"), "\(again.text)")
      #expect(try await operators.post(erase, preview).status == 404)
      let entries = try await fleet.texts(
        "SELECT concat_ws(' ', action, actor) AS text FROM audit "
          + "WHERE action IN ('customer.exported', 'purchase.released', 'customer.erased') ORDER BY id")
      let places = try await fleet.texts(
        "SELECT convert_from(detail, 'UTF8') AS text FROM audit "
          + "WHERE action IN ('customer.exported', 'purchase.released', 'customer.erased') ORDER BY id")
      #expect(places.count == entries.count)
      #expect(places.allSatisfy { $0.contains(#""address":"127.0.0.1"}"#) }, "\(places)")
      #expect(
        entries == ["customer.exported operator:ada", "purchase.released operator:ada", "customer.erased operator:op"])
      try await eventually("a worker publishes what the console told") {
        try await fleet.texts("SELECT event_id AS text FROM outbox") == []
      }
    }
  }

  @Test func `lists show what waits, what nobody has, and who did what`() async throws {
    try await withConsole { fleet in
      let ada = try await signIn(fleet, "ada")
      let purchase = try #require(try await ada.get("/find?q=1000000000001").location)
      let waiting = try await ada.get("/refund-requests")
      #expect(waiting.status == 200 && waiting.text.contains("Apple waits for no answer."), "\(waiting.text)")
      let form = Form(fleet: fleet, browser: ada)
      let asked = try await form.post(purchase + "/release", [(name: "step", value: "preview")])
      let period = (name: "subscriptionId", value: try hidden("subscriptionId", asked.text))
      #expect(try await !ada.get("/unclaimed").text.contains(purchase))
      #expect(try await form.post(purchase + "/release", [(name: "step", value: "confirm"), period]).status == 303)
      let unclaimed = try await ada.get("/unclaimed")
      #expect(unclaimed.status == 200 && unclaimed.text.contains("href=\"\(purchase)\""), "\(unclaimed.text)")
      #expect(unclaimed.text.contains("released, or erased"))
      let log = try await ada.get("/audit")
      for words in ["purchase.released", "purchase.registered", "<span class=\"name\">ada</span>", purchase] {
        #expect(log.text.contains(words), "\(words)")
      }
      // The sign-in of a person with one publisher is this publisher's. That of one with several is not.
      #expect(log.text.contains("console.signedIn"))
      let twin = try await ada.get("/audit.json?publisher=1001")
      #expect(twin.status == 200 && twin.text.contains("\"action\":\"purchase.released\""), "\(twin.text)")

      let files = try await ada.get("/configuration")
      #expect(files.status == 200 && files.text.contains("com.") && !files.text.contains("PRIVATE"), "\(files.text)")
      let apps = try await ada.get("/configuration.json").text
      #expect(apps.contains("\"publisherId\":\"1001\"") && !apps.contains("\"publisherId\":\"1002\""), "\(apps)")

      for path in ["/refund-requests", "/unclaimed", "/audit", "/configuration"] {
        for question in ["?publisher=1002", "?publisher=9999"] {
          #expect(try await ada.get(path + question).status == 404, "\(path + question)")
        }
        #expect(try await ada.get(path + "?after=x").status == 400, "\(path)")
        #expect(try await Browser(fleet: fleet, cookie: "").get(path + ".json").status == 401, "\(path)")
      }
      #expect(try await ada.get("/refund-requests?state=nothing").status == 400)
      let other = try await signIn(fleet, "other")
      let pages = ["/unclaimed", "/audit", "/audit.json"]
      for page in pages { #expect(try await !other.get(page).text.contains("1000000000001"), "\(page)") }
      let viewer = try await signIn(fleet, "vic")
      #expect(try await viewer.get("/audit?customer=7").status == 403)
      let seen = try await viewer.get("/audit?publisher=1001")
      #expect(seen.status == 200 && seen.text.contains("purchase.released") && !seen.text.contains(">ada<"))
      // Who sees several publishers chooses one.
      #expect(try await viewer.get("/unclaimed").text.contains("Choose one, and press Show."))
      #expect(try await viewer.get("/unclaimed?publisher=1001").text.contains("href=\"\(purchase)\""))
    }
  }

  @Test func `behind a listed proxy, each address has its own attempts`() async throws {
    try await withConsole(["COUNTERSIGN_CONSOLE_TRUSTED_PROXIES": "127.0.0.1"]) { fleet in
      func attempt(_ name: String, _ address: String, _ password: String = "wrong") async throws -> Int {
        let body = "name=\(name)&password=\(PercentCoding.encoded(password))&next="
        return try await post(fleet, "/sign-in", body, Self.own + [("X-Forwarded-For", address)]).status
      }
      var statuses: [Int] = []
      for _ in 1...11 { statuses.append(try await attempt("ada", "198.51.100.1")) }
      #expect(statuses == Array(repeating: 401, count: 10) + [429])
      #expect(try await attempt("ada", "198.51.100.2", Self.password) == 303)
      #expect(try await attempt("ada", "198.51.100.1", Self.password) == 429)
    }
  }

  @Test func `a name that nobody has gets the same answer, also without the ledger`() async throws {
    try await withConsole(["COUNTERSIGN_CONSOLE_STATEMENT_TIMEOUT_SECONDS": "10"]) { fleet in
      try await fleet.withLedger { ledger in
        try await ledger.transaction { transaction in
          _ = try await transaction.query(
            PostgresQuery(PostgresStatement("hold audit", "LOCK TABLE audit IN ACCESS EXCLUSIVE MODE")))
          for name in ["ada", "nobody-has-it"] {
            let answer = try await post(fleet, "/sign-in", "name=\(name)&password=wrong", Self.own)
            #expect(answer.status == 503, "\(name)")
          }
        }
      }
      #expect(try await post(fleet, "/sign-in", "name=nobody-has-it&password=wrong", Self.own).status == 401)
    }
  }

  @Test func `the verdict stays while the timeline cannot be read`() async throws {
    try await withConsole(["COUNTERSIGN_CONSOLE_STATEMENT_TIMEOUT_SECONDS": "15"]) { fleet in
      let ada = try await signIn(fleet, "ada")
      try await fleet.withLedger { ledger in
        try await ledger.transaction { transaction in
          _ = try await transaction.query(
            PostgresQuery(PostgresStatement("hold events", "LOCK TABLE events IN ACCESS EXCLUSIVE MODE")))
          let page = try await ada.get("/customers/1001/7")
          #expect(page.status == 200 && page.text.contains("Has access"), "\(page.text)")
          #expect(page.text.contains("events, attempts, changes could not be read in time"))
        }
      }
      #expect(try await !ada.get("/customers/1001/7").text.contains("could not be read"))
    }
  }

  @Test func `who is not in the file any more is out`() async throws {
    try await withConsole { fleet in
      let ada = try await signIn(fleet, "ada")
      #expect(try await ada.get("/").status == 200)
      try write([], fleet)
      try await eventually("the session ends with the file's lines") { try await ada.get("/").status == 303 }
      #expect(try await fleet.metric("console-1", "countersign_console_users_file_mistakes") == 1)
      #expect(try await post(fleet, "/sign-in", "name=ada&password=wrong", Self.own).status == 401)
    }
  }
}
