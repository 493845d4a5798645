import Crypto
import Domain
import EventLoop
import HTTPServer
import Testing

@testable import Doors
@testable import Gateway

/// How fast a credential may send receipts.
struct DoorPaceTests {
  private static func publisher(_ id: PublisherId, perSecond: Int?) -> Publisher {
    let policy = DoorPolicy(maxRequestsPerSecond: perSecond)
    func hash(_ text: String) -> [UInt8] { SHA256.hash(Array("\(text)-\(id)".utf8)) }
    return Publisher(
      id: id, customers: .open, tokenHashes: [hash("token")], customerTokens: nil, apps: [], offers: OfferCatalog([]),
      doors: OpenDoors(
        cleeng: CleengDoor(policy: policy),
        iaptic: IapticDoor(
          policy: policy, appName: "app-\(id)", apiKeyHashes: [hash("public")], secretKeyHashes: [hash("secret")]),
        mbaasy: MbaasyDoor(policy: policy, clientTokens: [.init(hash: hash("client"), bundleId: "com.a")])),
      webhooks: [])
  }

  private let publishers = Publishers([publisher(7, perSecond: 2), publisher(8, perSecond: nil)])

  private func iaptic(_ id: PublisherId, key: String) -> HTTPServerRequest {
    HTTPServerRequest(
      method: "POST", path: ["v1", "validate"], query: [("appName", "app-\(id)"), ("apiKey", "\(key)-\(id)")],
      headers: [])
  }

  private func mbaasy(_ id: PublisherId) -> HTTPServerRequest {
    HTTPServerRequest(method: "POST", path: [], headers: [("Authorization", "Bearer client-\(id)")])
  }

  private func cleeng(_ id: PublisherId) -> HTTPServerRequest {
    HTTPServerRequest(method: "POST", path: [], headers: [("X-Publisher-Token", "token-\(id)")])
  }

  /// The statuses of refusals at some times, in milliseconds; 0 for a request that goes on.
  @LoopActor private func statuses(
    _ door: Door, _ head: HTTPServerRequest, _ pace: inout DoorPace, at times: [Int]
  ) -> [Int] {
    var statuses: [Int] = []
    for time in times {
      let admission = door.admission(of: head, by: Authenticator(publishers: publishers, now: 0))
      statuses.append(admission?.refusal(&pace, now: .milliseconds(time))?.status ?? 0)
    }
    return statuses
  }

  @Test @LoopActor func `the requests of a second may come at once, and then each must wait for its part`() {
    var pace = DoorPace()
    let found = statuses(.mbaasy, mbaasy(7), &pace, at: [0, 0, 0, 499, 500, 501, 5000, 5000, 5000])
    #expect(found == [0, 0, 429, 429, 0, 429, 0, 0, 429])
  }

  @Test @LoopActor func `each door refuses in its own form`() throws {
    var pace = DoorPace()
    #expect(statuses(.cleeng, cleeng(7), &pace, at: [0, 0, 0]) == [0, 0, 429])
    #expect(statuses(.mbaasy, mbaasy(7), &pace, at: [0, 0, 0]) == [0, 0, 429])
    // The plugin reads the body of a 200 only.
    #expect(statuses(.iaptic, iaptic(7, key: "public"), &pace, at: [0, 0, 0]) == [0, 0, 200])
    let head = HTTPServerRequest(method: "POST", path: [], headers: [])
    let answer = PlayFabError.tooFast.response(to: head)
    #expect(answer.status == 429)
    #expect(String(decoding: answer.body, as: UTF8.self).contains(#""errorCode":1199"#))
  }

  @Test @LoopActor func `a backend does not wait for the app, nor one publisher for another`() {
    var pace = DoorPace()
    #expect(statuses(.iaptic, iaptic(7, key: "public"), &pace, at: [0, 0, 0]) == [0, 0, 200])
    #expect(statuses(.iaptic, iaptic(7, key: "secret"), &pace, at: [0, 0, 0]) == [0, 0, 200])
    #expect(statuses(.iaptic, iaptic(8, key: "public"), &pace, at: [0, 0, 0, 0]) == [0, 0, 0, 0])
  }

  @Test(arguments: [
    (Door.iaptic, "public", HTTPServer.LargeBody.Credential.app), (.iaptic, "secret", .backend), (.mbaasy, "", .app),
    (.cleeng, "", .backend),
  ])
  @LoopActor func `a body belongs to its publisher's apps or backends`(
    door: Door, key: String, kind: HTTPServer.LargeBody.Credential
  ) {
    let head = door == .iaptic ? iaptic(7, key: key) : door == .mbaasy ? mbaasy(7) : cleeng(7)
    let admission = door.admission(of: head, by: Authenticator(publishers: publishers, now: 0))
    #expect(admission?.sender == HTTPServer.LargeBody.Sender(publisher: "7", credential: kind))
  }

  @Test func `a silent credential is forgotten once there are many, and until then others have no pace`() {
    var pace = DoorPace()
    let publisher = Self.publisher(7, perSecond: 1)
    func sends(_ number: Int, at time: Duration) -> Bool {
      pace.admits(DoorPace.Credential(publisher, .playfab, String(number), .app), perSecond: 1, now: time)
    }
    let first = (0..<10_000).allSatisfy { sends($0, at: .zero) }
    let beyond = sends(10_000, at: .zero) && sends(10_000, at: .zero) && pace.count == 10_000
    let again = sends(0, at: .milliseconds(500))
    let later = sends(10_000, at: .seconds(2))
    let count = pace.count
    #expect(first && beyond && !again && later && count == 1)
  }
}
