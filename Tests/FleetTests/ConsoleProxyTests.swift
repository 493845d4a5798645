import EventLoop
import Fleets
import Formats
import FoundationEssentials
import HTTP
import ServerSupport
import TestSupport
import Testing

/// A console of a running fleet before which a proxy signs people in. The test takes the proxy's part.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct ConsoleProxyTests {
  private typealias Fields = [(name: String, value: String)]
  private typealias Answer = (status: Int, text: String)

  private static let ada: Fields = [
    (name: "X-Auth-Request-Email", value: "ada@example.com"),
    (name: "X-Auth-Request-Groups", value: "staff,Customer Support"),
  ]
  private static let op: Fields = [(name: "x-auth-request-email", value: "op@example.com")]
  private static let own: Fields = [(name: "Sec-Fetch-Site", value: "same-origin")]

  /// Runs a fleet with two consoles: `console-1` believes the test, and `console-2` another machine.
  private func withConsoles(_ body: @LoopActor (RunningFleet) async throws -> Void) async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      let roles = fleet.folder + "/roles"
      try write("operator * user op@example.com\nsupport 1001 groups Customer Support", fleet)
      for (name, addresses) in [("console-1", "127.0.0.1"), ("console-2", "10.1.0.0/16")] {
        try fleet.start(
          name,
          with: [
            "COUNTERSIGN_CONSOLE_LISTEN": "127.0.0.1:0",
            "COUNTERSIGN_CONSOLE_PUBLIC_URL": "https://support.example.com/c",
            "COUNTERSIGN_CONSOLE_PROXY_ADDRESSES": addresses, "COUNTERSIGN_CONSOLE_PROXY_ROLES_FILE": roles,
            "COUNTERSIGN_CONSOLE_PROXY_USER_HEADER": "X-Auth-Request-Email",
            "COUNTERSIGN_CONSOLE_PROXY_GROUPS_HEADER": "X-Auth-Request-Groups",
            "COUNTERSIGN_CONSOLE_STATEMENT_TIMEOUT_SECONDS": "60",
          ])
        try await fleet.ready(name)
      }
      #expect(try await fleet.register("1000000000001", id: "bought").status == 202)
      _ = try await fleet.finished(["bought"])
      try await body(fleet)
    }
  }

  private func write(_ roles: String, _ fleet: RunningFleet) throws {
    try Data(roles.utf8).write(to: URL(filePath: fleet.folder + "/roles"), options: .atomic)
  }

  private func get(
    _ fleet: RunningFleet, _ path: String, _ headers: Fields, console: String = "console-1"
  ) async throws -> Answer {
    let answer = try await fleet.send("GET", fleet.url(path, gateway: console), headers)
    return (answer.status, String(decoding: answer.body, as: UTF8.self))
  }

  private func post(
    _ fleet: RunningFleet, _ path: String, _ fields: Fields, _ headers: Fields, console: String = "console-1"
  ) async throws -> Answer {
    let body = fields.map { "\($0.name)=\(PercentCoding.encoded($0.value))" }.joined(separator: "&")
    let form: Fields = [(name: "Content-Type", value: "application/x-www-form-urlencoded")]
    let answer = try await fleet.send("POST", fleet.url(path, gateway: console), form + headers, body)
    return (answer.status, String(decoding: answer.body, as: UTF8.self))
  }

  private func requests(
    _ fleet: RunningFleet, _ result: String, console: String = "console-1"
  ) async throws -> Double {
    try await fleet.metric(console, #"countersign_console_proxy_requests_total{result="\#(result)"}"#)
  }

  @Test func `people see what the proxy's groups may, and act under their names`() async throws {
    try await withConsoles { fleet in
      let customer = try await get(fleet, "/c/customers/1001/7", Self.ada)
      #expect(customer.status == 200 && customer.text.contains("Has access"), "\(customer.text)")
      #expect(customer.text.contains("ada@example.com") && customer.text.contains("support"))
      #expect(try await get(fleet, "/c/customers/1002/7", Self.ada).status == 404)
      #expect(try await get(fleet, "/c/customers.json/1001/7", Self.ada).text.contains("\"accessGranted\":true"))
      #expect(try await get(fleet, "/c/customers/1001/7", Self.op).text.contains("op@example.com"))

      let path = "/c/customers/1001/7/notes"
      let text: Fields = [(name: "text", value: "Ticket 4711")]
      let asks: Fields = [(name: "step", value: "preview")]
      // Also with a proxy, a form comes from the console's own page.
      for headers in [Self.ada, Self.ada + [(name: "Origin", value: "https://evil.example")]] {
        #expect(try await post(fleet, path, text + asks, headers).status == 403)
      }
      let site: Fields = [(name: "Sec-Fetch-Site", value: "cross-site")]
      #expect(try await post(fleet, path, text + asks, Self.ada + site).status == 403)
      let preview = try await post(fleet, path, text + asks, Self.ada + Self.own)
      #expect(preview.status == 200, "\(preview.text)")
      let id: Fields = [(name: "noteId", value: try ConsoleTests().hidden("noteId", preview.text))]
      let confirm: Fields = [(name: "step", value: "confirm")]
      #expect(try await post(fleet, path, text + id + confirm, Self.ada + Self.own).status == 303)
      let entries = try await fleet.texts(
        "SELECT concat_ws(' ', action, actor) AS text FROM audit WHERE action LIKE 'c%.%ed' ORDER BY id")
      #expect(entries.contains("customer.noted operator:ada@example.com"), "\(entries)")
      #expect(!entries.contains { $0.hasPrefix("console.") })

      // Who is not in the file any more is out at the next request.
      try write("operator * user op@example.com", fleet)
      try await eventually("ada is out") { try await get(fleet, "/c/", Self.ada).status == 403 }
      let out = try await get(fleet, "/c/customers/1001/7", Self.ada)
      #expect(out.text.contains("You are ada@example.com at the proxy") && !out.text.contains("Has access"))
      #expect(try await get(fleet, "/c/", Self.op).status == 200)
    }
  }

  @Test func `nobody but the listed proxy says who somebody is`() async throws {
    try await withConsoles { fleet in
      for headers in [Self.op, []] {
        let answer = try await get(fleet, "/c/customers/1001/7", headers, console: "console-2")
        #expect(answer.status == 401 && answer.text.contains("has not come through it"), "\(answer.text)")
        #expect(try await get(fleet, "/c/customers.json/1001/7", headers, console: "console-2").status == 401)
        let fields: Fields = [(name: "step", value: "preview"), (name: "text", value: "x")]
        let posted = try await post(
          fleet, "/c/customers/1001/7/notes", fields, headers + Self.own, console: "console-2")
        #expect(posted.status == 401)
      }
      #expect(try await requests(fleet, "unlisted", console: "console-2") == 6)
      #expect(try await requests(fleet, "signedIn", console: "console-2") == 0)

      let page = "/c/customers/1001/7"
      let nobody = try await get(fleet, page, [])
      #expect(nobody.status == 401 && nobody.text.contains("has not said who you are"), "\(nobody.text)")
      // A field that is there twice may be a stranger's and the proxy's.
      #expect(try await get(fleet, page, Self.ada + Self.op).status == 403)
      #expect(try await get(fleet, page, [(name: "X-Auth-Request-Email", value: "op example.com")]).status == 403)
      #expect(try await get(fleet, page, [(name: "X_Auth_Request_Email", value: "op@example.com")]).status == 401)
      let eve = try await get(fleet, page, [(name: "X-Auth-Request-Email", value: "eve@example.com")])
      #expect(eve.status == 403 && eve.text.contains("nobody has given you a role"), "\(eve.text)")
      for (result, count) in [("noName", 2.0), ("twice", 1), ("unusable", 1), ("noRole", 1), ("signedIn", 0)] {
        #expect(try await requests(fleet, result) == count, "\(result)")
      }

      // Nobody signs in or out here.
      #expect(try await get(fleet, "/c/sign-in", Self.op).text.contains("There is no other way in"))
      let password: Fields = [(name: "name", value: "ada"), (name: "password", value: "a long password")]
      #expect(try await post(fleet, "/c/sign-in", password, Self.own).status == 404)
      #expect(try await get(fleet, "/c/sign-in/openid", []).status == 404)
      let signOut = try await post(fleet, "/c/sign-out", [], Self.op + Self.own)
      #expect(signOut.status == 200 && signOut.text.contains("only the proxy can sign you out"), "\(signOut.text)")
    }
  }
}
