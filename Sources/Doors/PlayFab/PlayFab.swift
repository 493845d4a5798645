import Configuration
import Domain
import EventLoop
import Gateway
import HTTPServer

/// PlayFab's client API for purchases of the App Store: docs/compatibility/playfab.md.
struct PlayFab: GatewayDoor {
  let id = Door.playfab
  let wait: DoorWait? = DoorWait("playfabWaitSeconds", 10, "How long the PlayFab door waits for results.")

  var routes: [DoorRoute] { PlayFabAPI.routes }

  @LoopActor
  func admission(of head: HTTPServerRequest, by authenticator: Authenticator) -> DoorAdmission {
    PlayFabAPI.admission(of: head, by: authenticator)
  }

  func tooLarge(limit: Int) -> HTTPServerResponse { PlayFabAPI.tooLarge(limit: limit) }

  func noRoom() -> HTTPServerResponse { PlayFabAPI.noRoom() }

  /// All methods of PlayFab's client API begin so.
  func refusal(_ problem: Problem, of request: HTTPServerRequest) -> HTTPServerResponse? {
    request.path.first == "Client" ? PlayFabAPI.unknownMethod(problem, request) : nil
  }

  func read(_ reader: DoorReader) -> (any OpenDoor)? {
    let isOpen = reader.isOpen("PlayFab's client API, `/Client/RestoreIOSPurchases`")
    // The customer of a session ticket is the publisher's own, so no prefix stands before that id.
    let ownership = reader.ownership(restore: .refuse)
    let policy = DoorPolicy(
      customers: reader.publishersCustomers(), ownership: ownership,
      maxRequestsPerSecond: reader.maxRequestsPerSecond())
    guard isOpen else { return nil }
    if !reader.hasCustomerTokens {
      reader.note("enabled", "needs customerTokens, since a session ticket is a customer's token")
    }
    return PlayFabDoor(policy: policy)
  }
}
