import Domain
import Formats
import HTTPServer

/// The routes of a gateway: those of our own API, and those of the doors of this build.
struct RouteTable: Sendable {
  let doors: [any GatewayDoor]
  /// The routes of the doors.
  let ofDoors: [Route]
  /// All routes. docs/reference/openapi.yaml has the same paths and methods. A test compares the two.
  let all: [Route]
  /// Every label of the metrics of routes.
  let labels: [String]
  /// The doors that take receipts, by their paths. None of these paths has a prefix or a value.
  private let receiptDoors: [ExactText: ReceiptDoor]

  /// A door that takes receipts, and the label of the route on which it does.
  struct ReceiptDoor: Sendable {
    let door: any GatewayDoor
    let label: String
  }

  /// A path with bodies that may be large.
  enum LargeBody {
    case receipt(ReceiptDoor)
    /// A notification of Apple's, which needs no credential.
    case notification
    /// A part of an import's file.
    case importPart
  }

  /// The label of requests that match no route.
  static let unknownLabel = "unknown"

  /// Creates the table; no two routes have the same method and path.
  init(_ doors: [any GatewayDoor]) {
    self.doors = doors
    ofDoors = doors.flatMap { door in
      door.routes.map { route in
        Route(
          route.method, route.path, under: route.prefix, route.label,
          .door(door.id, takesReceipts: route.takesReceipts, route.answer))
      }
    }
    all = Route.own + ofDoors
    labels = Set(all.map(\.label) + [Self.unknownLabel]).sorted()
    let pairs = doors.flatMap { door in
      door.routes.filter(\.takesReceipts).map { (ExactText($0.path), ReceiptDoor(door: door, label: $0.label)) }
    }
    receiptDoors = Dictionary(uniqueKeysWithValues: pairs)
  }

  /// Finds the route of a request. Each path that answers GET answers HEAD too.
  ///
  /// - Parameter rawPath: the path as sent. A route for anyone has one form only, so that a proxy can keep it inside.
  /// - Throws: ``Problem``: 404 for an unknown path, 405 with `Allow` for a method that the path does not have.
  func find(
    _ method: String, _ path: [String], rawPath: String? = nil
  ) throws(Problem) -> (route: Route, values: [Route.Parameter: String]) {
    let wanted = method == "HEAD" ? "GET" : method
    // A path that names a route word by word is no value of another route.
    let matching = all.compactMap { route -> (route: Route, values: [Route.Parameter: String])? in
      if case .anyone = route.access, let rawPath, !rawPath.isExactly(route.path) { return nil }
      return route.values(in: path).map { (route, $0) }
    }
    let fewest = matching.map(\.values.count).min()
    var allowed: [String] = []
    for (route, values) in matching where values.count == fewest {
      if route.method.rawValue == wanted { return (route, values) }
      allowed += route.method == .get ? ["GET", "HEAD"] : [route.method.rawValue]
    }
    guard allowed.isEmpty else { throw .methodNotAllowed(allowed.sorted()) }
    throw .unknownPath(path)
  }

  /// The door that takes receipts at a path; `nil` for every other path.
  ///
  /// The server asks before it has read the body, which may be large there.
  func receiptDoor(of segments: [String]) -> ReceiptDoor? { receiptDoors["/\(segments.joined(separator: "/"))"] }

  /// Whose large bodies a raw path takes; `nil` for most paths. Clients may write a path in several ways, such as with
  /// a slash at its end, and all of them find the route. So all of them have its limits.
  func largeBody(ofRaw path: Substring) -> LargeBody? {
    guard let segments = pathSegments(path) else { return nil }
    if let found = receiptDoor(of: segments) { return .receipt(found) }
    if Route.isImportPart(segments) { return .importPart }
    return Route.isNotification(segments) ? .notification : nil
  }

  /// The answer to a request that no route takes, in the form of the door whose name space its path is in.
  func refusal(_ problem: Problem, of request: HTTPServerRequest) -> HTTPServerResponse {
    for door in doors {
      if let response = door.refusal(problem, of: request) { return CrossOrigin.admitted(response) }
    }
    return problem.response
  }
}
