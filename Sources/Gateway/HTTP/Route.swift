import Domain
import EventLoop
import Formats
import HTTPServer

/// One operation of the HTTP API.
///
/// Routing, 404, 405 with `Allow`, authentication and the metrics' label follow from it.
struct Route: Sendable {
  /// Answers a call.
  typealias Handler = @LoopActor @Sendable (Gateway, Call) async throws(Problem) -> HTTPServerResponse

  /// Answers a notification of Apple's.
  typealias NotificationHandler =
    @LoopActor @Sendable (NotificationIntake, DoorCall) async throws(Problem) -> HTTPServerResponse

  enum Method: String {
    case get = "GET"
    case put = "PUT"
    case post = "POST"
    case patch = "PATCH"
    case delete = "DELETE"
  }

  /// The callers that a route admits, and its handler.
  enum Access: Sendable {
    /// Anyone, without a credential.
    case anyone(@LoopActor @Sendable (Gateway, HTTPServerRequest) -> HTTPServerResponse)
    /// A door, which has its own credentials and its own form of errors.
    ///
    /// `takesReceipts` says whether the body may be as long as a receipt.
    case door(
      Door, takesReceipts: Bool = false, @LoopActor @Sendable (DoorContext, DoorCall) async -> HTTPServerResponse)
    /// Apple, whose signature is the credential.
    case apple(NotificationHandler)
    /// The publisher with a token of this scope, or one of its customers.
    case publisherOrCustomer(TokenScope, Handler)
    /// The publisher only, with a token of this scope.
    case publisher(TokenScope, Handler)
  }

  /// A value in a path. docs/reference/openapi.yaml uses the same names.
  enum Parameter: String {
    case synchronizationId, customerId, applicationUsername, offerId, originalTransactionId, topic, endpointId, eventId,
      publisherId, refundRequestId
  }

  let method: Method
  /// The path as docs/reference/openapi.yaml writes it.
  let path: String
  /// The label of the route's metrics.
  let label: String
  let access: Access

  /// The optional first segment of the path. Clients write some paths with it and some without it.
  private let prefix: String?
  private let segments: [Segment]

  private enum Segment: Equatable {
    case text(String)
    case value(Parameter)
  }

  /// Declares a route.
  ///
  /// - Parameter prefix: see ``prefix``; a path may start with it or not.
  init(_ method: Method, _ path: String, under prefix: String?, _ label: String, _ access: Access) {
    self.method = method
    self.path = path
    self.prefix = prefix
    self.label = label
    self.access = access
    let segments = path.split(separator: "/").map { segment in
      Parameter(rawValue: String(segment.dropFirst().dropLast())).map { .value($0) } ?? Segment.text(String(segment))
    }
    self.segments = prefix.map { segments.first == .text($0) } ?? false ? Array(segments.dropFirst()) : segments
  }

  /// The values in a path; `nil` if the path does not match.
  func values(in path: [String]) -> [Parameter: String]? {
    let path = prefix != nil && path.first == prefix ? path.dropFirst() : path[...]
    guard path.count == segments.count else { return nil }
    var values: [Parameter: String] = [:]
    for (text, segment) in zip(path, segments) {
      switch segment {
      case .text(let expected): guard text == expected else { return nil }
      case .value(let parameter): values[parameter] = text
      }
    }
    return values
  }

  /// Finds the route of a request. Each path that answers GET answers HEAD too.
  ///
  /// - Parameter rawPath: the path as sent. A route for anyone has one form only, so that a proxy can keep it inside.
  /// - Throws: ``Problem``: 404 for an unknown path, 405 with `Allow` for a method that the path does not have.
  static func find(
    _ method: String, _ path: [String], rawPath: String? = nil
  ) throws(Problem) -> (route: Route, values: [Parameter: String]) {
    let wanted = method == "HEAD" ? "GET" : method
    // A path that names a route word by word is no value of another route.
    let matching = all.compactMap { route -> (route: Route, values: [Parameter: String])? in
      if case .anyone = route.access, let rawPath, rawPath.exact != route.path.exact { return nil }
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
}
