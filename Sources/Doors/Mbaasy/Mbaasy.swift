import Configuration
import Crypto
import Domain
import EventLoop
import Formats
import Gateway
import HTTPServer
import JSON

/// Mbaasy's client API for receipts: docs/compatibility/mbaasy.md.
struct Mbaasy: GatewayDoor {
  let id = Door.mbaasy
  let topics = [EventTopic.inAppPurchaseCreated, EventTopic.inAppPurchaseUpdated]
  let formats = [WebhookEndpoint.Format.mbaasy]
  let wait: DoorWait? = DoorWait(
    "mbaasyWaitSeconds", 10, "How long the Mbaasy door waits for results before it answers 206.")
  let credentials = [
    UniqueCredential("clientTokens") { publisher in
      (publisher.doors.mbaasy?.clientTokens ?? []).map { ExactText(Hex.encode($0.hash)) }
    }
  ]

  var routes: [DoorRoute] { MbaasyAPI.routes }

  @LoopActor
  func admission(of head: HTTPServerRequest, by authenticator: Authenticator) -> DoorAdmission {
    MbaasyAPI.admission(of: head, authenticator.publishers, now: authenticator.milliseconds)
  }

  func tooLarge(limit: Int) -> HTTPServerResponse { MbaasyAPI.tooLarge(limit: limit) }

  func noRoom() -> HTTPServerResponse { MbaasyAPI.noRoom() }

  /// Mbaasy's purchase is `data` once more.
  func environment(of data: JSONValue) -> WebhookEnvironment? {
    guard case .object(let members) = data, case .object(let purchase)? = members["data"] else { return nil }
    return WebhookEnvironment(named: purchase["environment"])
  }
}
