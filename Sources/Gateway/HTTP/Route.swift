import Domain
import EventLoop
import Formats
import HTTPServer

/// One operation of the HTTP API.
///
/// Routing, 404, 405 with `Allow`, authentication and the metrics' label follow from it.
struct Route: Sendable {
  /// Answers a call.
  typealias Handler = @LoopActor @Sendable (GatewayAPI, Call) async throws(Problem) -> HTTPServerResponse

  /// Answers a notification of Apple's.
  typealias NotificationHandler =
    @LoopActor @Sendable (NotificationIntake, DoorCall) async throws(Problem) -> HTTPServerResponse

  typealias Method = RouteMethod
  typealias Parameter = PathParameter

  /// The callers that a route admits, and its handler.
  enum Access: Sendable {
    /// Anyone, without a credential.
    case anyone(@LoopActor @Sendable (GatewayAPI, HTTPServerRequest) -> HTTPServerResponse)
    /// A door, which has its own credentials and its own form of errors.
    ///
    /// `takesReceipts` says whether the body may be as long as a receipt.
    case door(Door, takesReceipts: Bool, DoorRoute.Handler)
    /// Apple, whose signature is the credential.
    case apple(NotificationHandler)
    /// The publisher with a token of this scope, or one of its customers.
    case publisherOrCustomer(TokenScope, Handler)
    /// The publisher only, with a token of this scope.
    case publisher(TokenScope, Handler)
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
      segment.hasPrefix("{") ? .value(Parameter(String(segment.dropFirst().dropLast()))) : Segment.text(String(segment))
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
}

/// The method of a route.
package enum RouteMethod: String, Sendable {
  case get = "GET"
  case put = "PUT"
  case post = "POST"
  case patch = "PATCH"
  case delete = "DELETE"
}

/// A value in a path. docs/reference/openapi.yaml uses the same names. A door may have its own.
package struct PathParameter: Sendable, Hashable {
  let name: String

  /// Declares a parameter, which stands in paths as `{name}`.
  package init(_ name: String) { self.name = name }

  static let synchronizationId = Self("synchronizationId")
  package static let customerId = Self("customerId")
  package static let offerId = Self("offerId")
  static let originalTransactionId = Self("originalTransactionId")
  static let topic = Self("topic")
  static let endpointId = Self("endpointId")
  static let eventId = Self("eventId")
  static let publisherId = Self("publisherId")
  static let refundRequestId = Self("refundRequestId")
  static let grantId = Self("grantId")
  static let orderId = Self("orderId")
  static let importId = Self("importId")
}
