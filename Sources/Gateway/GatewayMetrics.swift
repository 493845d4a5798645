import Domain
import EventLoop
import HTTPServer
import Observability

/// The metrics of a gateway.
@LoopActor
final class GatewayMetrics {
  let requests: Counter
  let latency: Histogram
  let registrations: Counter
  let transfers: Counter
  let doors: Counter
  let provisions: Counter
  let pulledEvents: Counter
  let grants: Counter
  let sandboxAccess: Counter
  let exports: Counter
  private let limits: Counter
  private let publisherRegistrations: PublisherCounter
  private let publisherLimits: PublisherCounter

  /// The code that counts an accepted registration or transfer.
  static let accepted = "accepted"

  /// The label that counts access that was given while Apple is away.
  nonisolated static let granted = "granted"
  /// The label that counts requests whose jobs are not looked at, because enough are.
  nonisolated static let notLookedAt = "not_looked_at"
  /// The actions that count access by hand.
  nonisolated static let (given, set, withdrawn) = ("given", "set", "withdrawn")

  init(
    _ metrics: Metrics, _ routes: RouteTable, waiting: @escaping @LoopActor () -> Double = { 0 },
    waitingForEvents: @escaping @LoopActor () -> Double = { 0 },
    exporting: @escaping @LoopActor () -> Double = { 0 }
  ) {
    metrics.gauge(
      "countersign_door_requests_waiting", "Requests of doors that wait for results.", read: waiting)
    metrics.gauge(
      "countersign_event_reads_waiting", "Requests that wait for events.", read: waitingForEvents)
    metrics.gauge("countersign_exports_running", "Exports of publishers that run now.", read: exporting)
    exports = metrics.counter(
      "countersign_exports_total", "Exports of publishers that have ended.", labels: ["outcome"],
      known: ExportRun.Ending.allCases.map { [$0.rawValue] })
    pulledEvents = metrics.counter(
      "countersign_events_pulled_total", "Events that publishers read by pull, including repeats.")
    doors = metrics.counter(
      "countersign_door_requests_total", "Requests that a door answered.", labels: ["door", "status"],
      known: routes.doors.flatMap { door in Self.statuses.map { [door.id.rawValue, String($0)] } })
    provisions = metrics.counter(
      "countersign_door_provisions_total", "Access that was given while Apple is away.",
      labels: ["outcome"], known: [Self.granted, Self.notLookedAt].map { [$0] })
    limits = metrics.counter(
      "countersign_limited_total", "Requests that were refused, because a publisher or a customer reached a limit.",
      labels: ["limit"], known: Limit.allCases.map { [$0.rawValue] })
    grants = metrics.counter(
      "countersign_grants_total", "Grants that publishers gave and withdrew by hand.", labels: ["action"],
      known: [Self.given, Self.withdrawn].map { [$0] })
    sandboxAccess = metrics.counter(
      "countersign_sandbox_access_total", "Customers' sandbox access that publishers set and withdrew by hand.",
      labels: ["action"], known: [Self.set, Self.withdrawn].map { [$0] })
    publisherRegistrations = metrics.publisherCounter(
      "countersign_publisher_registrations_total", "Accepted registrations and transfers of the publisher.")
    publisherLimits = metrics.publisherCounter(
      "countersign_publisher_limited_total", "Requests of the publisher that were refused because of a limit.")
    requests = metrics.counter(
      "countersign_http_requests_total", "Answered requests.", labels: ["route", "status"],
      known: routes.labels.flatMap { label in Self.statuses.map { [label, String($0)] } })
    latency = metrics.histogram(
      "countersign_http_request_duration_seconds", "Time from the request to the answer.", labels: ["route"],
      known: routes.labels.map { [$0] })
    registrations = metrics.counter(
      "countersign_registrations_total", "Registrations by answer.", labels: ["code"],
      known: ([Self.accepted] + Self.refusals.map(\.code)).map { [$0] })
    transfers = metrics.counter(
      "countersign_transfers_total", "Transfers by answer.", labels: ["code"],
      known: ([Self.accepted] + Self.transferRefusals.map(\.code)).map { [$0] })
  }

  /// Counts a request beyond a limit. The label never names the customer who reached it.
  func limited(_ limit: Limit, _ publisher: PublisherId) {
    limits.count(limit.rawValue)
    publisherLimits.count(publisher.number)
  }

  /// Counts a registration of a publisher, also one through a door.
  func accepted(_ publisher: PublisherId) { publisherRegistrations.count(publisher.number) }

  /// Counts the answer of a door to a request that no handler has seen.
  func count(_ refusal: HTTPServerResponse, by door: Door, _ route: String) {
    requests.count(route, String(refusal.status))
    doors.count(door.rawValue, String(refusal.status))
  }

  /// Every status of the API.
  private static let statuses = [
    200, 201, 202, 204, 206, 400, 401, 402, 403, 404, 405, 409, 410, 413, 415, 422, 429, 500, 503,
  ]

  /// Every reason to refuse a registration.
  private static let refusals: [Problem] =
    [
      .invalidBody(""), .invalidHeaders(""), .tooLarge(0), .unsupportedMediaType, .forbidden(""), .notActivated,
      .unknownCustomer(""), .locked(instance: nil), .internalError, .unavailable(""),
    ] + Limit.ofRegistrations.map { .limited($0, .zero) }

  /// Every reason to refuse a transfer.
  private static let transferRefusals: [Problem] =
    [
      .invalidBody(""), .invalidHeaders(""), .tooLarge(0), .unsupportedMediaType, .forbidden(""), .notActivated,
      .unknownCustomer(""), .migrating, .locked(.transfer, by: .registration, instance: nil),
      .locked(.transfer, by: .transfer, instance: nil), .internalError, .unavailable(""),
    ] + Limit.ofRegistrations.map { .limited($0, .zero) }
}
