import Domain
import DomainSupport
import Doors
import EventLoop
import Formats
import HTTPServer
import Import
import JSON
import Ledger
import Notifier
import Observability
import RoleSupport
import Service
import Testing

@testable import Configuration
@testable import Gateway

/// Adds a door beside those of the registry, and looks at every place that must know it then.
@LoopActor
struct NewDoorTests {
  private static let doors = DoorRegistry.all + [Toy()]
  private static let catalog = DoorCatalog(doors)

  private static func publisher(_ id: PublisherId = 7, _ door: ToyDoor? = ToyDoor()) -> Publisher {
    Publisher(
      id: id, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: TestCommit.offers,
      doors: OpenDoors(door.map { [$0] } ?? []), webhooks: [])
  }

  @Test func `the configuration reads its keys and describes them`() throws {
    let folder = try ConfigurationFolder()
    try folder.write("{}", to: "countersign.json")
    let settings = try folder.loader(doors: Self.doors).settings()
    #expect(settings.gateway.doors.wait(at: .toy) == .seconds(3))
    try folder.write(
      #"{"publisherId": 7, "customers": "open", "doors": {"toy": {"enabled": true, "shop": "a"}}}"#,
      to: "publishers/a.json")
    func mistakes() -> [String] {
      folder.mistakes { _ = try folder.loader(doors: Self.doors).publishers(in: folder.path + "/publishers") }
    }
    #expect(mistakes() == ["publishers/a.json: doors.toy.enabled: needs an app"])
    let reference = ConfigurationReference.markdown(Self.doors)
    for key in ["gateway.doors.toyWaitSeconds", "doors.toy.enabled", "doors.toy.shop"] {
      #expect(reference.contains("| `\(key)` |"), "\(key)")
    }
    // Without the door, nobody knows these keys.
    #expect(folder.publisherMistakes().contains { $0.contains("doors.toy.shop: is no key of this file") })
  }

  @Test func `two publishers cannot share what identifies one`() throws {
    let clashes = CredentialKind.all([Toy()]).flatMap {
      $0.clashes(of: [Self.publisher(7), Self.publisher(8)], before: { _ in nil })
    }
    #expect(
      clashes.map { $0.mistake(in: "publishers").description } == [
        "publishers: doors.toy.shop: publishers 7 and 8 have one in common"
      ])
  }

  @Test func `its callers are found by their secrets`() {
    let publishers = Publishers([Self.publisher()])
    let hash = [UInt8](repeating: 1, count: 32)
    #expect(publishers.holder(ofHash: hash, at: .toy, ring: ["shops"], now: 0).found?.holder == "shop")
    #expect(publishers.holder(ofHash: hash, at: .toy, now: 0).found == nil)
    #expect(publishers.holder(ofHash: hash, at: .iaptic, ring: ["shops"], now: 0).found == nil)
  }

  @Test func `the gateway serves its paths, refuses in its form and counts its answers`() throws {
    let routes = RouteTable(Self.doors)
    let found = try routes.find("POST", ["toy", "receipts"])
    #expect(found.route.label == "toy_receipts" && routes.labels.contains("toy_receipts"))
    let door = try #require(routes.receiptDoor(of: ["toy", "receipts"])).door
    #expect(door.refusal(of: .tooLong, limit: 10).body == Array("toy: 10".utf8))
    #expect(door.refusal(of: .noRoom, limit: 10).status == 503)
    let metrics = Metrics()
    _ = GatewayMetrics(metrics, routes)
    #expect(metrics.text().contains(#"countersign_door_requests_total{door="toy",status="200"} 0"#))
  }

  @Test func `a commit tells its events, after those of the doors before it`() throws {
    var commit = TestCommit()
    commit.publisher = Self.publisher()
    let told = commit.evidence(TestCommit.job(), TestPurchases.transaction(expires: 30)).events
    let event = try #require(told.first { $0.topic == Toy.topic })
    #expect(event.customerId == "me" && event.version == 1)
    commit.publisher = Self.publisher(7, nil)
    let closed = commit.evidence(TestCommit.job(), TestPurchases.transaction(expires: 31)).events
    #expect(!closed.contains { $0.topic == Toy.topic })
  }

  @Test func `its looks and its rules count`() {
    let purchase = TestPurchases.purchase(TestPurchases.transaction(expires: 30), owner: "me", version: 1)
    let now = TestPurchases.at(1)
    #expect(Self.publisher().timer.next(after: now, purchase).map { $0 < now + 2000 } == true)
    #expect(Self.publisher().rulesSHA256 != Self.publisher(7, nil).rulesSHA256)
  }

  @Test func `a job of it is read where the door is known, and waits elsewhere`() throws {
    let job = Job(
      synchronizationId: "s", publisherId: 7, customerId: "me", transactionId: "1", door: .toy, registeredAt: 0)
    #expect(job.asker == .app)
    #expect(try Job(JSONText(job.encoded), doors: Self.catalog) == job)
    #expect(throws: Job.NewerFormat(format: 3)) { try Job(JSONText(job.encoded), doors: DoorRegistry.catalog) }
  }

  private struct NoSignatures: ImportVerifier {
    func purchases(in text: ImportSignedText) throws(ImportRefusal) -> [ImportSignedPurchase] { [] }
  }

  @Test func `imports know its vendor's columns, and comparisons its webhooks`() throws {
    let presets = ImportPresets(Self.catalog)
    let columns = try #require(presets.export(named: ImportPresetName(rawValue: "toy")))
    var lines = ["child,thing", "ann,toy-11"][...]
    let file = ImportFile(preset: columns, verifier: NoSignatures()) { lines.popFirst().map { Array($0.utf8) } }
    #expect(Array(file.rows) == [ImportRow(line: 2, customerId: "ann", transactionId: "11")])
    let reader = try #require(presets.bodies.first { $0.name == "toy-webhooks" })
    var bodies = [#"{"child":"ann","toy":"toy-11"}"#, #"{"child":"ann","toy":"ball"}"#][...]
    let recorded = RecordedWebhooks(reader, now: 0) { bodies.popFirst().map { Array($0.utf8) } }
    #expect(recorded.rows == [ImportRow(line: 1, customerId: "ann", transactionId: "11")])
    #expect(recorded.problems.map(\.line) == [2])
  }

  @Test func `endpoints can have its topics and its format`() throws {
    #expect(Self.catalog.topics.last == Toy.topic)
    let body = JSONValue.object(["url": .string("https://a.com"), "format": .string("toy")])
    func endpoint(_ doors: DoorCatalog) throws(Problem) -> WebhookEndpoint {
      try EndpointRequest.endpoint(body, id: "e", WebhookAddress(), doors) { _ throws(Problem) in [7] }
    }
    let made = try endpoint(Self.catalog)
    #expect(made.format == .toy && made.topics == [Toy.topic])
    #expect(throws: Problem.invalidBody("format: expected one of cleeng, fovea, mbaasy")) {
      try endpoint(DoorRegistry.catalog)
    }
    let event = WebhookEvent(
      id: "evt", topic: Toy.topic, time: 0,
      body: Array(#"{"broadcasterId":7,"data":{"playground":"Sandbox"},"topic":"toy.changed"}"#.utf8))
    #expect(
      WebhookPayload(event, made, keys: [[7]])
        == WebhookPayload(
          body: Array(#"{"playground":"Sandbox"}"#.utf8), headers: [.init(name: "X-Toy", value: "yes")]))
    let delivery = try Delivery(eventId: "evt", endpointId: nil, headers: [:], body: event.body)
    #expect(delivery.environment(Self.catalog) == .sandbox)
    #expect(delivery.environment(DoorRegistry.catalog) == nil)
  }
}
