import HTTPServer

/// What a request asks for, by value.
enum Route: Equatable {
  case register
  case status(String)
  case customer(String, Method)
  case webhooks(WebhookRoute)
  case health

  enum Method: String {
    case get = "GET"
    case put = "PUT"
    case post = "POST"
    case patch = "PATCH"
    case delete = "DELETE"
  }

  /// Paths that every role serves, see `HealthEndpoints`.
  static let healthPaths = ["livez", "readyz", "metrics"]

  /// Reads the path and the method.
  ///
  /// - Throws: ``Problem``: 404 for a path that is none, 405 with `Allow` for a method that it has not.
  init(_ method: String, _ path: [String]) throws(Problem) {
    if path.count == 1, Self.healthPaths.contains(path[0]) {
      self = .health
      return
    }
    for resource in Resource.all {
      guard let values = resource.values(in: path) else { continue }
      guard let known = Method(rawValue: method == "HEAD" ? "GET" : method), let route = resource.routes[known] else {
        throw .methodNotAllowed(resource.allowed)
      }
      self = route(values)
      return
    }
    throw .notFound
  }
}

/// A path of the API and what its methods ask for.
struct Resource: Sendable {
  /// As docs/reference/openapi.yaml has it.
  let path: String
  let routes: [Route.Method: @Sendable ([String]) -> Route]

  /// What may stand before a path, and need not: some of it is written with each, as documented, and some without.
  private let prefix: String
  /// The segments without the prefix; `nil` for those that hold a value.
  private let segments: [String?]

  init(_ path: String, prefix: String, _ routes: [Route.Method: @Sendable ([String]) -> Route]) {
    self.path = path
    self.prefix = prefix
    self.routes = routes
    var segments = path.split(separator: "/").map { $0.first == "{" ? nil : String($0) }
    if segments.first == prefix { segments.removeFirst() }
    self.segments = segments
  }

  /// The values in a path; `nil` when it is another one.
  func values(in path: [String]) -> [String]? {
    let path = path.first == prefix ? path.dropFirst() : path[...]
    guard path.count == segments.count else { return nil }
    var values: [String] = []
    for (segment, expected) in zip(path, segments) {
      if expected == nil {
        values.append(segment)
      } else if segment != expected {
        return nil
      }
    }
    return values
  }

  /// The methods, as `Allow` has them: HEAD wherever GET is.
  var allowed: [String] {
    routes.keys.flatMap { $0 == .get ? ["GET", "HEAD"] : [$0.rawValue] }.sorted()
  }
}

extension Resource {
  /// Every path but those for health, the most asked for first.
  static let all: [Resource] =
    [
      Resource("/storekit2/purchases", prefix: "storekit2", [.post: { _ in .register }]),
      Resource(
        "/storekit2/purchases/synchronizations/{synchronizationId}", prefix: "storekit2", [.get: { .status($0[0]) }]),
      Resource(
        "/customers/{cleengCustomerId}", prefix: "storekit2",
        [
          .get: { .customer($0[0], .get) }, .put: { .customer($0[0], .put) },
          .delete: { .customer($0[0], .delete) },
        ]),
      Resource(
        "/3.1/webhook_subscriptions/{topic}", prefix: "3.1",
        [
          .get: { .webhooks(.subscriptions(topic: $0[0], .get)) },
          .put: { .webhooks(.subscriptions(topic: $0[0], .put)) },
        ]),
      Resource(
        "/3.1/webhook_endpoints", prefix: "3.1",
        [.get: { _ in .webhooks(.endpoints(.get)) }, .post: { _ in .webhooks(.endpoints(.post)) }]),
      Resource(
        "/3.1/webhook_endpoints/{endpointId}", prefix: "3.1",
        [
          .get: { .webhooks(.endpoint($0[0], .get)) }, .patch: { .webhooks(.endpoint($0[0], .patch)) },
          .delete: { .webhooks(.endpoint($0[0], .delete)) },
        ]),
      Resource(
        "/3.1/webhook_endpoints/{endpointId}/attempts", prefix: "3.1",
        [.get: { .webhooks(.endpointAttempts($0[0])) }]),
      Resource(
        "/3.1/webhook_events/{eventId}/attempts", prefix: "3.1", [.get: { .webhooks(.eventAttempts($0[0])) }]),
      Resource(
        "/3.1/webhook_events/{eventId}/deliveries/{endpointId}/resend", prefix: "3.1",
        [.post: { .webhooks(.resend(event: $0[0], endpoint: $0[1])) }]),
    ]
    + WebhookRoute.EndpointChange.allCases.map { change in
      Resource(
        "/3.1/webhook_endpoints/{endpointId}/\(change.rawValue)", prefix: "3.1",
        [.post: { .webhooks(.change(endpoint: $0[0], change)) }])
    }
}
