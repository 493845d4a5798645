import Configuration
import Domain
import EventLoop
import Gateway
import HTTPServer

/// Cleeng's StoreKit 1 contract: docs/compatibility/cleeng.md.
///
/// Our own API began as Cleeng's StoreKit 2 contract, and both have words in common, such as the envelope of events and
/// `cleengCustomerId`. They are the core's. This slice has what only the older contract needs.
struct Cleeng: GatewayDoor {
  let id = Door.cleeng
  let topics = [
    EventTopic.validationSucceeded, EventTopic.validationFailed, EventTopic.subscriptionCreated,
    EventTopic.subscriptionTerminated,
  ]
  let export: ExportColumns? = .cleeng

  var routes: [DoorRoute] { CleengAPI.routes }

  @LoopActor
  func admission(of head: HTTPServerRequest, by authenticator: Authenticator) -> DoorAdmission {
    CleengAPI.admission(of: head, by: authenticator)
  }

  func tooLarge(limit: Int) -> HTTPServerResponse { CleengAPI.tooLarge(limit: limit) }

  func noRoom() -> HTTPServerResponse { CleengAPI.noRoom() }

  func read(_ reader: DoorReader) -> (any OpenDoor)? {
    let isOpen = reader.isOpen("Cleeng's StoreKit 1 contract, `/apple/payment`")
    var policy = reader.policy(restore: .transfer)
    policy.customers = reader.publishersCustomers()
    return isOpen ? CleengDoor(policy: policy) : nil
  }
}
