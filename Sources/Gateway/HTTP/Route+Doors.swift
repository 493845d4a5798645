import Domain
import EventLoop
import Formats
import HTTPServer

/// The routes of the doors.
extension Route {
  /// The paths of the vendors.
  static let doors: [Route] = cleeng + iaptic + mbaasy + playfab

  /// A door that takes receipts, and the label of the route on which it does.
  struct ReceiptDoor {
    let door: Door
    let label: String
  }

  /// The door that takes receipts at a path; `nil` for every other path.
  ///
  /// The server asks before it has read the body, which may be large there.
  static func receiptDoor(of segments: [String]) -> ReceiptDoor? {
    receiptDoors["/\(segments.joined(separator: "/"))".exact]
  }

  /// A path with bodies that may be large.
  enum LargeBody {
    case receipt(ReceiptDoor)
    /// A notification of Apple's, which needs no credential.
    case notification
  }

  /// Whose large bodies a raw path takes; `nil` for most paths. Clients may write a path in several ways, such as with
  /// a slash at its end, and all of them find the route. So all of them have its limits.
  static func largeBody(ofRaw path: Substring) -> LargeBody? {
    guard let segments = pathSegments(path) else { return nil }
    if let found = receiptDoor(of: segments) { return .receipt(found) }
    return isNotification(segments) ? .notification : nil
  }

  /// Whether Apple posts notifications to a path.
  static func isNotification(_ segments: [String]) -> Bool {
    notifications.contains { $0.values(in: segments) != nil }
  }

  /// The doors that take receipts, by their paths. None of these paths has a prefix or a value.
  private static let receiptDoors: [ExactText: ReceiptDoor] = {
    let pairs = doors.compactMap { route -> (ExactText, ReceiptDoor)? in
      guard case .door(let door, takesReceipts: true, _) = route.access else { return nil }
      return (route.path.exact, ReceiptDoor(door: door, label: route.label))
    }
    return Dictionary(uniqueKeysWithValues: pairs)
  }()

  /// The answer to a request that no route takes, in the form of the door whose name space its path is in.
  static func refusal(_ problem: Problem, of request: HTTPServerRequest) -> HTTPServerResponse {
    // All methods of PlayFab's client API begin so.
    guard request.path.first?.exact == "Client".exact else { return problem.response }
    return CrossOrigin.admitted(PlayFabAPI.unknownMethod(problem, request))
  }
}

extension Door {
  /// Whether a head may go on to its body: not without a right credential, and not too fast. So nobody without a
  /// credential makes the gateway keep or read a large body.
  @LoopActor
  func admission(of head: HTTPServerRequest, by authenticator: Authenticator) -> DoorAdmission? {
    // Another method than POST has its own answer.
    guard head.method == "POST" else { return nil }
    switch self {
    case .cleeng: return CleengAPI.admission(of: head, by: authenticator)
    case .mbaasy: return MbaasyAPI.admission(of: head, authenticator.publishers)
    case .playfab: return PlayFabAPI.admission(of: head, by: authenticator)
    case .iaptic: return IapticAPI.admission(of: head, authenticator.publishers)
    }
  }

  /// The answer to a body that the server does not take, in the door's own form.
  ///
  /// - Parameter limit: the most bytes of a body.
  func refusal(of reason: HTTPServer.BodyRefusal, limit: Int) -> HTTPServerResponse {
    switch (self, reason) {
    case (.cleeng, .tooLong): CleengAPI.tooLarge(limit: limit)
    case (.mbaasy, .tooLong): MbaasyAPI.tooLarge(limit: limit)
    case (.playfab, .tooLong): PlayFabAPI.tooLarge(limit: limit)
    case (.iaptic, .tooLong): IapticAPI.tooLarge(limit: limit)
    case (.cleeng, .noRoom): CleengAPI.noRoom()
    case (.mbaasy, .noRoom): MbaasyAPI.noRoom()
    case (.playfab, .noRoom): PlayFabAPI.noRoom()
    case (.iaptic, .noRoom): IapticAPI.noRoom()
    }
  }
}
