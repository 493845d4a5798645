package import Configuration
import EventLoop
package import HTTPServer

/// A door, as the gateway serves it. This is the whole descriptor of a vendor's contract: it has what the configuration
/// and the domain know of a door, too.
package protocol GatewayDoor: ConfiguredDoor {
  /// Its paths, with their handlers.
  var routes: [DoorRoute] { get }

  /// Whether the head of a POST with a receipt may go on to its body: not without a right credential, and not too fast.
  /// So nobody without a credential makes the gateway keep or read a large body.
  @LoopActor
  func admission(of head: HTTPServerRequest, by authenticator: Authenticator) -> DoorAdmission

  /// The answer to a body that is too long to be read, in the vendor's form. Nobody knows what it says.
  ///
  /// - Parameter limit: the most bytes of a body.
  func tooLarge(limit: Int) -> HTTPServerResponse

  /// The answer to a body for which the gateway has no room now, in the vendor's form.
  func noRoom() -> HTTPServerResponse

  /// The answer to a request that no route takes; `nil` if its path is not in the vendor's name space.
  func refusal(_ problem: Problem, of request: HTTPServerRequest) -> HTTPServerResponse?
}

extension GatewayDoor {
  /// Returns `nil`: the vendor has no name space of its own.
  package func refusal(_ problem: Problem, of request: HTTPServerRequest) -> HTTPServerResponse? { nil }

  /// Whether the head of a request may go on; `nil` for another method than POST, which has its own answer.
  @LoopActor
  func admission(ofAny head: HTTPServerRequest, by authenticator: Authenticator) -> DoorAdmission? {
    head.method == "POST" ? admission(of: head, by: authenticator) : nil
  }

  /// The answer to a body that the server does not take.
  func refusal(of reason: HTTPServer.BodyRefusal, limit: Int) -> HTTPServerResponse {
    switch reason {
    case .tooLong: tooLarge(limit: limit)
    case .noRoom: noRoom()
    }
  }
}
