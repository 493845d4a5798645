import Domain
import Doors
import EventLoop
import HTTPServer

@testable import Gateway

extension Door {
  /// Whether a head may go on at this door of the registry.
  @LoopActor
  func admission(of head: HTTPServerRequest, by authenticator: Authenticator) -> DoorAdmission? {
    DoorRegistry.all.first { $0.id == self }?.admission(ofAny: head, by: authenticator)
  }
}
