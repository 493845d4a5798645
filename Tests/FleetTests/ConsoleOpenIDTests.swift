import Crypto
import EventLoop
import Fleets
import Formats
import FoundationEssentials
import HTTP
import Postgres
import ServerSupport
import TestSupport
import Testing

/// What `ops/test` has installed.
private enum OpenIDPackages {
  static let python = Repository.root + "/.countersign/oidc-python/bin/python"
}

/// Sign-in to the console of a running fleet with a provider of OpenID Connect: Authlib's, as a process.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .enabled(
    if: FileManager.default.fileExists(atPath: OpenIDPackages.python), "ops/test installs the provider's packages"),
  .timeLimit(.minutes(60)))
@LoopActor
struct ConsoleOpenIDTests {
  /// Nobody listens there: the test takes the browser's part, and knows the console's real port.
  private static let origin = "https://support.example.com"
  private static let roles = """
    operator * groups operators
    support 1001 groups Customer Support
    """

  /// A browser with the cookies of one console.
  @LoopActor
  final class Browser {
    let fleet: RunningFleet
    var cookies: [String: String] = [:]

    init(_ fleet: RunningFleet) { self.fleet = fleet }

    func get(_ path: String) async throws -> (status: Int, text: String, location: String?) {
      let cookie = cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
      let answer = try await fleet.send("GET", fleet.url(path, gateway: "console-1"), [("Cookie", cookie)])
      for (name, value) in answer.headers where name == "set-cookie" {
        let pair = value.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        cookies[String(pair[0])] = value.contains("Max-Age=0") ? nil : String(pair[1])
      }
      return (answer.status, String(decoding: answer.body, as: UTF8.self), answer.header("location"))
    }

    /// Begins at a page of the console, and returns where the provider's page is.
    func begin(_ page: String = "/c/") async throws -> String {
      let start = try await get("/c/sign-in/openid?next=\(PercentCoding.encoded(page))")
      #expect(start.status == 303)
      return try #require(start.location)
    }

    /// Says at the provider who it is, and returns the path that the provider sends it back to.
    func consent(_ address: String, as person: String) async throws -> String {
      let form = [(name: "Content-Type", value: "application/x-www-form-urlencoded")]
      let answer = try await fleet.send("POST", address, form, "person=\(person)")
      let back = try #require(answer.header("location"), "\(String(decoding: answer.body, as: UTF8.self))")
      #expect(back.hasPrefix(ConsoleOpenIDTests.origin + "/c/sign-in/openid/return?"))
      return String(back.dropFirst(ConsoleOpenIDTests.origin.utf8.count))
    }
  }

  func withProvider(_ body: @LoopActor (RunningFleet, ChildProcess) async throws -> Void) async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      let (address, secret, roles) = (
        fleet.folder + "/issuer", fleet.folder + "/client-secret", fleet.folder + "/roles"
      )
      try Data("a secret of the client: ä+/&\n".utf8).write(to: URL(filePath: secret))
      try Data(Self.roles.utf8).write(to: URL(filePath: roles))
      let provider = try ChildProcess(
        OpenIDPackages.python,
        [
          "-B", Repository.root + "/ops/development/oidc/provider.py", address, secret,
          Self.origin + "/c/sign-in/openid/return",
        ], output: fleet.folder + "/provider.log")
      do {
        try await eventually("the provider listens") { FileManager.default.fileExists(atPath: address) }
        let issuer = String(decoding: try Data(contentsOf: URL(filePath: address)), as: UTF8.self)
        try fleet.start(
          "console-1",
          with: [
            "COUNTERSIGN_CONSOLE_LISTEN": "127.0.0.1:0", "COUNTERSIGN_CONSOLE_PUBLIC_URL": Self.origin + "/c",
            "COUNTERSIGN_CONSOLE_OPEN_ID_ISSUER": issuer, "COUNTERSIGN_CONSOLE_OPEN_ID_CLIENT_ID": "console:1",
            "COUNTERSIGN_CONSOLE_OPEN_ID_CLIENT_SECRET_FILE": secret,
            "COUNTERSIGN_CONSOLE_OPEN_ID_ROLES_FILE": roles,
            "COUNTERSIGN_CONSOLE_STATEMENT_TIMEOUT_SECONDS": "60",
          ])
        try await fleet.ready("console-1")
        try await body(fleet, provider)
      } catch {
        await provider.kill()
        throw error
      }
      await provider.kill()
    }
  }

  private static func signIns(_ result: String) -> String {
    #"countersign_console_openid_sign_ins_total{result="\#(result)"}"#
  }

  @Test func `people sign in with their accounts, and see what their groups may`() async throws {
    try await withProvider { fleet, _ in
      #expect(try await fleet.register("1000000000001", id: "bought").status == 202)
      _ = try await fleet.finished(["bought"])
      let ada = Browser(fleet)
      let page = try await ada.get("/c/sign-in?next=%2Fc%2Fcustomers%2F1001%2F7")
      #expect(page.text.contains("/c/sign-in/openid?next=") && !page.text.contains("name=\"password\""))
      let back = try await ada.consent(try await ada.begin("/c/customers/1001/7"), as: "ada")
      #expect(ada.cookies.keys.sorted() == ["__Host-countersign-openid"])
      let signedIn = try await ada.get(back)
      #expect(signedIn.status == 303 && signedIn.location == "/c/customers/1001/7", "\(signedIn.text)")
      #expect(ada.cookies.keys.sorted() == ["__Host-countersign"])
      let customer = try await ada.get("/c/customers/1001/7")
      #expect(customer.status == 200 && customer.text.contains("ada@example.com") && customer.text.contains("support"))
      #expect(try await ada.get("/c/customers/1002/7").status == 404)
      // The address works once, and only in this browser.
      #expect(try await ada.get(back).status == 400)
      let op = Browser(fleet)
      #expect(try await op.get(try await op.consent(try await op.begin("//evil.example"), as: "op")).location == "/c/")
      #expect(try await op.get("/c/audit").text.contains("ada@example.com"))

      let query = """
        SELECT action, actor, convert_from(detail, 'UTF8') AS detail FROM audit WHERE action LIKE 'console.%' ORDER BY id
        """
      let entries = try await fleet.withLedger { ledger in
        try await ledger.run(PostgresQuery(PostgresStatement("openid audit in a test", query))).map {
          "\(try $0.text("action") ?? "") \(try $0.text("actor") ?? "") \(try $0.text("detail") ?? "")"
        }
      }
      #expect(
        entries == [
          #"console.signedIn operator:ada@example.com {"role":"support","with":"openId","address":"127.0.0.1"}"#,
          #"console.signedIn operator:op@example.com {"role":"operator","with":"openId","address":"127.0.0.1"}"#,
        ])
      #expect(try await fleet.metric("console-1", Self.signIns("signedIn")) == 2)
    }
  }

  @Test func `who has no role, no verified address, or somebody else's answer is refused`() async throws {
    try await withProvider { fleet, provider in
      let eve = Browser(fleet)
      let refused = try await eve.get(try await eve.consent(try await eve.begin(), as: "eve"))
      #expect(refused.status == 403 && refused.text.contains("You are eve@example.com"), "\(refused.text)")
      #expect(eve.cookies.isEmpty)
      let unverified = try await eve.get(try await eve.consent(try await eve.begin(), as: "mallory"))
      #expect(unverified.status == 403 && unverified.text.contains("has not checked"), "\(unverified.text)")
      let denied = try await eve.get(try await eve.consent(try await eve.begin(), as: "nobody"))
      #expect(denied.status == 401 && denied.text.contains("did not let you in"), "\(denied.text)")

      // Eve begins, and lets Ada's browser end it: it would show Eve's account to Ada. And the other way round.
      let ada = Browser(fleet)
      let (ofAda, ofEve) = (try await ada.begin(), try await eve.begin())
      let back = try await ada.consent(ofAda, as: "ada")
      #expect(try await eve.get(back).status == 400)
      // A code that another attempt has got: the state is right, and the verifier is not.
      let code = try #require(back.split(separator: "?").last?.split(separator: "&").first { $0.hasPrefix("code=") })
      let state = try #require(ofEve.split(separator: "&").first { $0.hasPrefix("state=") })
      let injected = try await eve.get("/c/sign-in/openid/return?\(code)&\(state)")
      #expect(injected.status == 401 && eve.cookies.isEmpty, "\(injected.text)")
      #expect(try await eve.get("/c/").status == 303)

      // The line that gave the role is gone: the session, too.
      let op = Browser(fleet)
      _ = try await op.get(try await op.consent(try await op.begin(), as: "op"))
      #expect(try await op.get("/c/").status == 200)
      let lines = Self.roles.replacing("operator *", with: "operator 1001")
      try Data(lines.utf8).write(to: URL(filePath: fleet.folder + "/roles"))
      try await eventually("the session ends") { try await op.get("/c/").status == 303 }

      let away = Browser(fleet)
      let foreign = try await away.get(
        "/c/sign-in/openid/return?code=c&state=\(String(repeating: "s", count: 43))")
      #expect(foreign.status == 400)
      let address = try await away.consent(try await away.begin(), as: "ada")
      await provider.kill()
      let failed = try await away.get(address)
      #expect(failed.status == 503 && failed.text.contains("The sign-in with the provider failed"), "\(failed.text)")
      // The description is still known, so the browser learns at the provider's address that it is away.
      #expect(try await away.get("/c/sign-in/openid").status == 303)
      for (result, count) in [("refused", 2.0), ("notAtProvider", 2), ("signedIn", 1), ("failed", 1)] {
        #expect(try await fleet.metric("console-1", Self.signIns(result)) == count, "\(result)")
      }
    }
  }
}
