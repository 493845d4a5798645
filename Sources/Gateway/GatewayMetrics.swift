import EventLoop
import Observability

/// What a gateway counts.
@LoopActor
final class GatewayMetrics {
  let requests: Counter
  let latency: Histogram
  let registrations: Counter

  /// The code under which an accepted registration is counted.
  static let accepted = "accepted"

  init(_ metrics: Metrics) {
    requests = metrics.counter(
      "countersign_http_requests_total", "Answered requests.", labels: ["route", "status"],
      known: Route.labels.flatMap { label in Self.statuses.map { [label, String($0)] } })
    latency = metrics.histogram(
      "countersign_http_request_duration_seconds", "Time from request to answer.", labels: ["route"],
      known: Route.labels.map { [$0] })
    registrations = metrics.counter(
      "countersign_registrations_total", "Registrations by what they came to.", labels: ["code"],
      known: ([Self.accepted] + Self.refusals.map(\.code)).map { [$0] })
  }

  /// Every status of the API.
  private static let statuses = [
    200, 201, 202, 204, 400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 500, 503,
  ]

  /// What a registration can be refused with.
  private static let refusals: [Problem] = [
    .invalidBody(""), .invalidHeaders(""), .tooLarge(0), .unsupportedMediaType, .forbidden(""), .notActivated,
    .unknownCustomer(0), .locked(instance: nil), .internalError, .unavailable(""),
  ]
}
