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
  /// A name, a role, and the publishers that the person sees.
  typealias Person = (name: String, role: String, publishers: String)

  private static let password = "a long password"
  private static let people: [Person] = [
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
    let (name, password) = (PercentCoding.encoded(name), PercentCoding.encoded(Self.password))
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
  ///   - strangers: who may sign in besides.
  ///   - prepare: called before the roles start.
  func withConsole(
    _ environment: [String: String] = [:], beside others: [String] = ["gateway-1", "worker-1"],
    overrides: [String: String] = [:], admitting strangers: [Person] = [],
    prepare: @LoopActor (RunningFleet) throws -> Void = { _ in },
    _ body: @LoopActor (RunningFleet) async throws -> Void
  ) async throws {
    try await RunningFleet.with(others, overrides: overrides, prepare: prepare) { fleet in
      let lines = try (Self.people + strangers).map { name, role, publishers in
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
