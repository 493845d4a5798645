import Configuration
import Domain
import EventLoop
import Formats
import HTTPServer
import JSON

@testable import Gateway

/// A vendor's contract as docs/internals/a-new-door.md tells to add one, with every part that a door can have.
struct Toy: GatewayDoor {
  static let topic: EventTopic = "toy.changed"

  let id = Door.toy
  let topics = [Toy.topic]
  let formats = [WebhookEndpoint.Format.toy]
  let export: ExportColumns? = .toy
  let recordedBodies: (any RecordedBodyReader)? = ToyBodies()
  let wait: DoorWait? = DoorWait("toyWaitSeconds", 3, "How long the toy door waits for results.")
  let credentials = [
    UniqueCredential("shop") { publisher in publisher.doors.open(ToyDoor.self).map { [ExactText($0.shop)] } ?? [] }
  ]

  func read(_ reader: DoorReader) -> (any OpenDoor)? {
    let isOpen = reader.isOpen("the toy API, `/toy/receipts`")
    let policy = reader.policy()
    let shop = reader.optionalString("shop", "The name of the shop.") ?? ""
    if isOpen, shop.isEmpty { reader.note("shop", "is missing") }
    return isOpen ? ToyDoor(policy: policy, shop: shop) : nil
  }

  func mistakes(in publisher: Publisher) -> [(key: String, problem: String)] {
    publisher.apps.isEmpty && publisher.doors.open(ToyDoor.self) != nil ? [("enabled", "needs an app")] : []
  }

  func environment(of data: JSONValue) -> WebhookEnvironment? {
    guard case .object(let members) = data else { return nil }
    return WebhookEnvironment(named: members["playground"])
  }

  var routes: [DoorRoute] {
    [DoorRoute(.post, "/toy/receipts", "toy_receipts", takesReceipts: true) { _, _ in .text(200, "toy") }]
  }

  @LoopActor
  func admission(of head: HTTPServerRequest, by authenticator: Authenticator) -> DoorAdmission {
    .refused(.text(401, "toy: who are you?"))
  }

  func tooLarge(limit: Int) -> HTTPServerResponse { .text(413, "toy: \(limit)") }

  func noRoom() -> HTTPServerResponse { .text(503, "toy: later") }

  func refusal(_ problem: Problem, of request: HTTPServerRequest) -> HTTPServerResponse? {
    request.path.first == "toy" ? .text(problem.status, "toy: no") : nil
  }
}

extension Door {
  static let toy = Door("toy", asker: .app)
}

/// The toy door of a publisher. It tells each change, and looks at a purchase every second.
struct ToyDoor: OpenDoor {
  let id = Door.toy
  var policy = DoorPolicy()
  var shop = "shop"

  var credentials: [DoorCredential] {
    [DoorCredential("shop", ring: ["shops"], hash: Array(repeating: 1, count: 32), holder: shop)]
  }

  var rules: [String] { ["toy:\(shop)"] }

  func events(of change: PurchaseChange, _ publisher: Publisher) -> [Event] {
    [
      Event(
        of: [change.after.key.originalTransactionId.text, String(change.after.version)], publisherId: publisher.id,
        customerId: change.after.owner?.customerId, topic: Toy.topic, version: change.after.version, time: change.now,
        traceparent: nil
      ) { $0.member("playground", change.after.key.environment) }
    ]
  }

  func nextLook(after now: Int64, at purchase: Purchase) -> Int64? { now + 1000 }
}

extension ExportColumns {
  static let toy = ExportColumns(
    ImportPresetName(rawValue: "toy"), idPrefix: "toy-", [.customer: ["child"], .original: ["toy", "thing"]])
}

/// Bodies that name a customer and a purchase.
struct ToyBodies: RecordedBodyReader {
  let name = "toy-webhooks"
  let columns = ExportColumns.toy

  func body(_ members: borrowing JSONObject, now: Int64) throws -> RecordedBody {
    let id = try transaction(members.requiredString("toy"))
    return .purchases([id: ClaimedPurchase()], of: try customer(members.string("child")), isWhole: false, at: nil)
  }
}

extension WebhookEndpoint.Format {
  static let toy = Self("toy", topics: [Toy.topic]) { content, key in
    switch content {
    case .body(let data): WebhookPayload(body: data, headers: [.init(name: "X-Toy", value: key == nil ? "no" : "yes")])
    case .test(let id, _): WebhookPayload(body: Array("test \(id)".utf8))
    }
  }
}
