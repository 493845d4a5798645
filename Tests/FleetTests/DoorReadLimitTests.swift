import Crypto
import EventLoop
import Fleets
import HTTP
import ServerSupport
import TestSupport
import Testing

/// The reads of doors, at two gateways at once: together they accept as many as one would, and no more.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct DoorReadLimitTests {
  /// A read of a door, and the limit that it meets.
  struct Case: Sendable, CustomStringConvertible {
    let description: String
    let limit: String
    /// The key of `gateway.limits` as the end of a variable, with the value 1.
    let key: String
    let method: String
    let path: String
    let headers: [(String, String)]
    var body: String?
    /// A part of the answer beyond the limit.
    let error: String
  }

  private nonisolated static let (publisher, perPublisher, perCustomer) = (
    RunningFleet.publisher, ("publisher_reads", "READS_PER_SECOND"), ("customer_reads", "CUSTOMER_READS_PER_SECOND")
  )
  private nonisolated static let customer = jwt(customer: 7, publisher: publisher)

  private nonisolated static func iaptic(_ path: String) -> Case {
    let key = Base64.encode(Array("\(RunningFleet.iapticAppName):\(RunningFleet.iapticSecretKey)".utf8))
    return Case(
      description: path, limit: perPublisher.0, key: perPublisher.1, method: "GET", path: path,
      headers: [("Authorization", "Basic \(key)")], error: #""code":"TooManyRequests""#)
  }

  private nonisolated static func rpc(_ limit: (String, String)) -> Case {
    let tokens = #"{"publisherToken":"\#(RunningFleet.token(of: publisher))","customerToken":"\#(customer)"}"#
    return Case(
      description: "json-rpc, \(limit.0)", limit: limit.0, key: limit.1, method: "POST", path: "/3.1/json-rpc",
      headers: [("Content-Type", "application/json")],
      body: #"{"method":"getAccessibleTags","id":1,"params":\#(tokens)}"#, error: #""message":"Too many requests""#)
  }

  nonisolated static let cases = [
    iaptic("/v2/customers"), iaptic("/v2/customers?applicationUsername=7"), iaptic("/v2/customers/7/purchases"),
    iaptic("/v1/customers/7/subscription"), rpc(perPublisher), rpc(perCustomer),
    Case(
      description: "Cleeng, customer", limit: perCustomer.0, key: perCustomer.1, method: "GET",
      path: "/entitlements/S2",
      headers: [("Authorization", "Bearer \(customer)")], error: #""code":"LIM0006""#),
    Case(
      description: "Cleeng, publisher", limit: perPublisher.0, key: perPublisher.1, method: "GET",
      path: "/3.1/entitlements/customer_id/7/offer_id/S2",
      headers: [("X-Publisher-Token", RunningFleet.token(of: publisher))],
      error: #""errors":["Too many requests"]"#),
  ]

  @Test(arguments: cases)
  func `two gateways share a limit`(one: Case) async throws {
    // A gateway counts a tenth by itself: one read in ten seconds, for each of the two.
    let limit = SharedLimit(label: one.limit, key: one.key, atOnce: 3, perSecond: 1.2)
    try await limit.meet { _, fleet, gateway in
      try await fleet.send(one.method, fleet.url(one.path, gateway: gateway), one.headers, one.body)
    } accepted: { answer in
      #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
    } refused: { answer in
      #expect(String(decoding: answer.body, as: UTF8.self).contains(one.error))
      #expect(answer.header("retry-after") == "1")
    }
  }
}
