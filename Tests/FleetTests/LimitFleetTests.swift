import EventLoop
import Fleets
import HTTP
import Ledger
import ServerSupport
import TestSupport
import Testing

/// Each limit at two gateways at once: together they accept as many as one would, and no more.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct LimitFleetTests {
  /// A limit, and a request that meets it.
  struct Case: Sendable, CustomStringConvertible {
    /// The limit's label in metrics.
    let limit: String
    let code: String
    /// The key of `gateway.limits` as the end of a variable, with the value 1.
    let key: String
    /// What both together accept at once, and so much more in a second.
    let atOnce: Int
    let perSecond: Double
    let isByCustomer: Bool
    var isRead = false
    var isReplay = false
    var isWrite = false
    /// How many of those that come at once the start of the fleet may have used.
    var usedByStart: Int { isWrite ? 1 : 0 }

    var description: String { limit }

    /// The answers to what is accepted.
    var statuses: [Int] { isRead ? [404] : isWrite ? [200, 201] : [202] }
  }

  nonisolated static let cases = [
    Case(
      limit: "publisher_rate", code: "LIM0001", key: "REGISTRATIONS_PER_SECOND", atOnce: 1, perSecond: 1,
      isByCustomer: false),
    Case(
      limit: "customer_rate", code: "LIM0002", key: "CUSTOMER_REGISTRATIONS_PER_SECOND", atOnce: 10, perSecond: 1,
      isByCustomer: true),
    Case(
      limit: "customer_open", code: "LIM0003", key: "OPEN_PER_CUSTOMER", atOnce: 1, perSecond: 0, isByCustomer: true),
    Case(
      limit: "publisher_open", code: "LIM0004", key: "OPEN_PER_PUBLISHER", atOnce: 1, perSecond: 0, isByCustomer: false),
    // A gateway counts a tenth by itself: one request in ten seconds, for each of the two.
    Case(
      limit: "publisher_reads", code: "LIM0005", key: "READS_PER_SECOND", atOnce: 3, perSecond: 1.2,
      isByCustomer: false, isRead: true),
    Case(
      limit: "customer_reads", code: "LIM0006", key: "CUSTOMER_READS_PER_SECOND", atOnce: 3, perSecond: 1.2,
      isByCustomer: true, isRead: true),
    Case(
      limit: "publisher_writes", code: "LIM0012", key: "WRITES_PER_SECOND", atOnce: 3, perSecond: 1.2,
      isByCustomer: false, isWrite: true),
    Case(
      limit: "publisher_replays", code: "LIM0007", key: "REPLAYS_PER_SECOND", atOnce: 10, perSecond: 1,
      isByCustomer: false, isReplay: true),
  ]

  @Test(arguments: cases)
  func `two gateways share a limit`(one: Case) async throws {
    let limit = SharedLimit(
      label: one.limit, key: one.key, atOnce: one.atOnce, perSecond: one.perSecond, usedByStart: one.usedByStart)
    try await limit.meet { number, fleet, gateway in
      try await send(one, number, fleet, gateway)
    } accepted: { answer in
      #expect(one.statuses.contains(answer.status))
    } refused: { answer in
      #expect(String(decoding: answer.body, as: UTF8.self).contains(one.code))
      #expect(Int(answer.header("retry-after") ?? "").map { $0 >= 1 } == true)
    }
  }

  @Test func `two gateways create only one more endpoint of a publisher that lacks one`() async throws {
    try await RunningFleet.with(["gateway-1", "gateway-2"]) { fleet in
      let api = WebhookAPIClient(fleet: fleet)
      let first = try await api.create(#""url":"https://example.com/0""#)
      try await fleet.execute(
        """
        INSERT INTO webhook_endpoints SELECT publisher_id, 'ep_' || number, revision, url, name, topics, format,
          signature, secrets, retry, payment_method_id, max_concurrency, max_per_second, accepts_self_signed, source,
          put_key, created_at, updated_at
        FROM webhook_endpoints, generate_series(1, \(WebhookEndpointStore.limit - 2)) AS number
        """)
      let gateways = ["gateway-1", "gateway-2"]
      let sent = gateways.map { gateway in
        Task { @LoopActor in
          try await api.send("POST", "webhook_endpoints", #"{"url":"https://example.com/last"}"#, gateway: gateway)
        }
      }
      var answers: [WebhookAPIClient.Answer] = []
      for one in sent { answers.append(try await one.value) }
      #expect(answers.map(\.status).sorted() == [201, 409])
      let refused = answers.filter { $0.status == 409 }
      for answer in refused {
        #expect(answer.text("code") == "LIM0017" && answer.headers.header("retry-after") == nil, "\(answer.body)")
      }
      var counted = 0.0
      for gateway in gateways {
        counted += try await fleet.metric(gateway, #"countersign_limited_total{limit="webhook_endpoints"}"#)
      }
      #expect(counted == 1)
      #expect(try await api.send("DELETE", "webhook_endpoints/\(first.id)", gateway: "gateway-2").status == 204)
      _ = try await api.create(#""url":"https://example.com/more""#)
    }
  }

  private func send(
    _ one: Case, _ number: Int, _ fleet: RunningFleet, _ gateway: String
  ) async throws -> HTTPClientResponse {
    let publisher = RunningFleet.publisher
    let headers =
      one.isByCustomer
      ? [("Authorization", "Bearer \(jwt(customer: 7, publisher: publisher))"), ("Content-Type", "application/json")]
      : fleet.headers(publisher)
    let path = "/storekit2/purchases"
    if one.isReplay {
      return try await fleet.send("POST", fleet.url("/3.1/webhook_endpoints/main/test", gateway: gateway), headers)
    }
    if one.isWrite {
      return try await fleet.send("PUT", fleet.url("/customers/\(number)", gateway: gateway), headers, "{}")
    }
    if one.isRead {
      return try await fleet.send("GET", fleet.url("\(path)/synchronizations/none", gateway: gateway), headers)
    }
    return try await fleet.send(
      "POST", fleet.url(path, gateway: gateway), headers,
      "{\"cleengCustomerId\":7,\"transactionId\":\"1000000\(100_000 + number)\"}")
  }
}
