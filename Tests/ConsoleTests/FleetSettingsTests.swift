import Configuration
import Coordination
import Crypto
import Domain
import DomainSupport
import Ledger
import Testing

@testable import Console

/// What processes run with, and which keys Apple refuses, on the page about the configuration.
struct FleetSettingsTests {
  private static let now = AnsweredPurchases.now
  private static let evil = "<script>alert('x')</script>\"&"

  private static func beat(
    _ role: String, at place: String = "a:1", silent: Int64 = 0, _ settings: [String: String]? = [:],
    refused: [FleetBeat.RefusedApp]? = nil
  ) -> FleetBeat {
    var beat = FleetBeat(
      id: role + place, role: role, version: "1", place: place, startedAt: now, refusedApps: refused,
      settings: settings.map { $0.map { FleetBeat.Setting($0.key, $0.value, fallback: "info") } })
    (beat.heardAt, beat.readAt) = (now - silent, now)
    return beat
  }

  private static func values(_ beats: [FleetBeat]) -> [String] {
    FleetSettings(beats).rows.flatMap { row in
      row.values.map { "\(row.key)=\($0.text ?? "default") in \($0.holders.joined(separator: ","))" }
    }
  }

  @Test func `one value is told once`() {
    let same = [Self.beat("gateway", ["log.level": "debug"]), Self.beat("worker", ["log.level": "debug"])]
    #expect(Self.values(same) == ["log.level=debug in gateway,worker"])
    #expect(FleetSettings(same).rows.map(\.differs) == [false])
    #expect(Self.values([Self.beat("gateway"), Self.beat("worker")]) == [])
    #expect(Self.values([]) == [])
  }

  @Test func `where processes differ stands first, with who has which value`() {
    let beats = [
      Self.beat("gateway", at: "a:1", ["log.level": "debug", "a.key": "x"]),
      Self.beat("gateway", at: "b:1", ["a.key": "x"]),
      Self.beat("worker", at: "c:1", ["log.level": "error", "a.key": "x"]),
      Self.beat("worker", at: "d:1", ["log.level": "error", "a.key": "x"]),
    ]
    #expect(
      Self.values(beats) == [
        "log.level=error in worker", "log.level=default in gateway b:1", "log.level=debug in gateway a:1",
        "a.key=x in gateway,worker",
      ])
  }

  @Test func `a key of a role is one of its own processes`() {
    let beats = [
      Self.beat("gateway"), Self.beat("worker", at: "c:1", ["worker.x": "1", "console.y": "2"]),
      Self.beat("worker", at: "d:1", ["worker.x": "1"]),
    ]
    #expect(Self.values(beats) == ["worker.x=1 in worker"])
  }

  @Test func `a page without Redis, or with very many refusals, says what it does not know`() throws {
    let page = try Self.page(nil)
    #expect(page.html.contains("Redis did not answer") && page.html.contains("com.one"))
    #expect(try !Self.page([Self.beat("worker", refused: [])]).html.contains("Redis did not answer"))
    var beat = Self.beat("worker", refused: [Self.refusal("com.two")])
    #expect(try Self.page([beat]).html.contains("no refusal is known"))
    beat.hasMoreRefusedApps = true
    #expect(try Self.page([beat]).html.contains("not reported: Apple refuses"))
  }

  @Test func `who is silent, or of a version that does not tell, has no values`() {
    let beats = [
      Self.beat("gateway", ["log.level": "debug"]), Self.beat("worker", silent: 60_000, ["log.level": "error"]),
      Self.beat("notifier", nil),
    ]
    #expect(Self.values(beats) == ["log.level=debug in gateway"])
    #expect(FleetSettings(beats).processes.map(\.role) == ["gateway"])
  }

  private static func publisher(_ id: PublisherId = 7) throws -> Publisher {
    let app = Publisher.App(
      bundleId: "com.one", appAppleId: 5, issuerId: "issuer", keyId: "key", privateKey: try .generate(),
      environments: [.production, .sandbox])
    return Publisher(
      id: id, customers: .open, tokenHashes: [], customerTokens: nil, apps: [app], offers: OfferCatalog([]),
      webhooks: [])
  }

  private static func page(
    _ beats: [FleetBeat]?, _ role: ConsoleRole = .operator, of publishers: SeenPublishers = .all,
    after: PublisherId? = nil
  ) throws -> ConfigurationPage {
    let person = ConsolePerson(name: "ada", role: role, publishers: publishers, password: try Scrypt.ofNobody())
    return ConfigurationPage(
      view: ConsoleView(prefix: "/c", person: person, now: now),
      question: ListQuestion(choices: [7], after: after.map { ConsolePlace(0, $0, "") }),
      Publishers([try publisher()]), beats)
  }

  private static func refusal(
    _ bundle: BundleId = "com.one", of publisher: PublisherId = 7, in environment: Environment = .production,
    since: Int64 = now
  ) -> FleetBeat.RefusedApp {
    FleetBeat.RefusedApp(bundle, of: publisher, in: environment, since: since, cause: "Apple said \(evil)")
  }

  @Test func `an app's key is refused where a worker says so`() throws {
    let beats = [
      Self.beat("worker", at: "a:1", refused: [Self.refusal(since: Self.now - 1000), Self.refusal("com.two")]),
      Self.beat(
        "worker", at: "b:1", refused: [Self.refusal(since: Self.now - 9000), Self.refusal(of: 8, in: .sandbox)]),
      Self.beat("worker", at: "c:1", silent: 60_000, refused: [Self.refusal(in: .sandbox)]), Self.beat("gateway"),
    ]
    let refusals = AppRefusals(beats)
    let found = refusals.of(try Self.publisher().apps[0], of: 7)
    #expect(refusals.workers == 2 && found.map(\.environment) == [.production])
    #expect(found.map(\.since) == [Self.now - 9000] && found.map(\.workers) == [2])
    let page = try Self.page(beats)
    #expect(page.html.contains("refused</span> in Production since") && !page.html.contains("workers say"))
    #expect(!page.html.contains("<script") && page.html.contains("Apple said &lt;script&gt;"))
    let json = String(decoding: page.json, as: UTF8.self)
    #expect(json.contains(#""environment":"Production","since":""#) && json.contains(#""workers":2"#), "\(json)")
    #expect(json.contains(#""workersThatTell":2"#))
    let viewer = try Self.page(beats, .viewer)
    #expect(viewer.html.contains("refused</span> in Production since") && !viewer.html.contains("Apple said"))
    #expect(!String(decoding: viewer.json, as: UTF8.self).contains("Apple said"))
  }

  @Test func `nobody says more than the workers know`() throws {
    #expect(try Self.page([Self.beat("gateway")]).html.contains("no worker reports"))
    #expect(try Self.page([Self.beat("worker", refused: [])]).html.contains("no refusal is known"))
    let some = [Self.beat("worker", at: "a:1", refused: [Self.refusal()]), Self.beat("worker", at: "b:1", refused: [])]
    #expect(try Self.page(some).html.contains("as 1 of 2 workers say"))
    // The alarm of the fleet names the app.
    let beat = FleetBeat(
      id: "w", role: "worker", version: "1", place: "a:1", startedAt: Self.now,
      readings: [.init("countersign_apple_refused_apps", [], 1)], refusedApps: [Self.refusal()])
    let words = FleetAlarm.all(of: [Self.beat("gateway"), beat]).map(\.words)
    #expect(words == ["Apple refuses the key of 1 app: com.one of publisher 7."])
  }

  @Test func `settings are for operators of all publishers, on the first page`() throws {
    let beats = [
      Self.beat("gateway", at: "host-7:1", ["log.level": Self.evil]),
      Self.beat("worker", at: "host-8:1", ["log.level": "debug"]),
    ]
    let page = try Self.page(beats)
    #expect(page.html.contains("Settings in effect") && page.html.contains("differs") && !page.html.contains("<script"))
    #expect(page.html.contains("&lt;script&gt;") && page.html.contains("What 2 processes started with"))
    let json = String(decoding: page.json, as: UTF8.self)
    #expect(json.contains(#""differs":true,"key":"log.level""#) && json.contains(#""holders":["worker"]"#), "\(json)")
    let one = try #require(SeenPublishers("7"))
    for other in [try Self.page(beats, .support), try Self.page(beats, of: one), try Self.page(beats, after: 1)] {
      #expect(!other.html.contains("Settings in effect") && !other.html.contains("log.level"))
      #expect(!String(decoding: other.json, as: UTF8.self).contains("log.level"))
    }
    #expect(try Self.page([]).html.contains("No process reports its settings."))
    #expect(try Self.page([Self.beat("worker")]).html.contains("Every other key has its default."))
  }
}
