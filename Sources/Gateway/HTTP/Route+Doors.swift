import Domain
import EventLoop
import Formats
import HTTPServer

/// The routes of the doors.
extension Route {
  /// The paths of the vendors. They stand alone: no prefix of ours goes before them.
  static let doors: [Route] = cleeng + iaptic + mbaasy + playfab

  /// The door behind a path, if it is one of a door that takes receipts; `nil` for all others.
  ///
  /// The server asks before it has read the body, which may be large there.
  static func door(_ path: [String]) -> Door? { receiptDoors["/\(path.joined(separator: "/"))".exact] }

  /// The same of a raw path. Clients may write a path in several ways, such as with a slash at its end, and all of them
  /// find the route. So all of them have the door's limits.
  static func door(_ path: Substring) -> Door? { pathSegments(path).flatMap { door($0) } }

  /// The doors that take receipts, by their paths.
  private static let receiptDoors: [ExactText: Door] = {
    let pairs = doors.compactMap { route -> (ExactText, Door)? in
      guard case .door(let door, takesReceipts: true, _) = route.access else { return nil }
      return (route.path.exact, door)
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
  ///
  /// - Parameter now: milliseconds since 1970.
  @LoopActor
  func admission(of head: HTTPServerRequest, publishers: Publishers, now: Int64) -> DoorAdmission? {
    // Another method than POST has its own answer.
    guard head.method == "POST" else { return nil }
    switch self {
    case .cleeng: return CleengAPI.admission(of: head, publishers, now: now)
    case .mbaasy: return MbaasyAPI.admission(of: head, publishers)
    case .playfab: return PlayFabAPI.admission(of: head, publishers, now: now)
    case .iaptic: return IapticAPI.admission(of: head, publishers)
    }
  }

  /// The answer to a body that is longer than the limit, in the door's own form.
  func tooLarge(_ limit: Int) -> HTTPServerResponse {
    switch self {
    case .cleeng: CleengAPI.tooLarge(limit: limit)
    case .mbaasy: MbaasyAPI.tooLarge(limit: limit)
    case .playfab: PlayFabAPI.tooLarge(limit: limit)
    case .iaptic: IapticAPI.tooLarge(limit: limit)
    }
  }
}
