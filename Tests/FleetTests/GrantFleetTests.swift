import Domain
import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import ServerSupport
import TestSupport
import Testing

/// Access by hand at a running fleet.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct GrantFleetTests {
  private struct Entitlement: Decodable {
    let accessGranted: Bool
    let rule: String
    let grant: Grant?
    struct Grant: Decodable { let grantId: String }
  }

  private func entitlement(
    _ fleet: RunningFleet, of customer: Int64 = 7, publisher: PublisherId = RunningFleet.publisher,
    gateway: String = "gateway-1"
  ) async throws -> Entitlement {
    let answer = try await fleet.send(
      "GET", fleet.url("/customers/\(customer)/entitlements/S1", gateway: gateway),
      RunningFleet.publisherHeaders(publisher))
    return try JSONDecoder().decode(Entitlement.self, from: Data(answer.body))
  }

  @Test func `a grant gives access until its end, and both are told`() async throws {
    try await RunningFleet.with(["gateway-1", "gateway-2", "worker-1", "worker-2"]) { fleet in
      let id = "0b0c1d9e-52f0-4c4e-9f53-0a9c2d7f1e10"
      let wish = #""grantId":"\#(id)","offerId":"S1","note":"Ticket 4711""#
      let latest = ContinuousClock.now + .seconds(4)
      let given = try await fleet.give(wish, for: .seconds(5))
      #expect(given.status == 201 && given.grant?.state == "open" && given.grant?.grantId == id, "\(given.text)")
      let now = try await entitlement(fleet, gateway: "gateway-2")
      // On a machine that stood still, the end may have come before the answer.
      if now.accessGranted || ContinuousClock.now < latest {
        #expect(now.accessGranted && now.rule == "granted" && now.grant?.grantId == id)
      }
      // The end comes by the clock, and a worker tells it.
      let changes = try await fleet.changes.wait { $0.contains { $0.after == nil } }
      #expect(changes.map { $0.after?.accessGranted } == [true, nil])
      let bodies = changes.map { String(decoding: $0.body, as: UTF8.self) }
      #expect(bodies[0].contains(#""cause":"grant""#) && bodies[0].contains(#""granted":true"#), "\(bodies[0])")
      #expect(bodies[1].contains(#""cause":"time""#) && !bodies.joined().contains("Ticket"), "\(bodies[1])")
      #expect(try await entitlement(fleet).rule == "noPurchase")
      try await eventually("a worker has counted the end") {
        let first = try await fleet.metric("worker-1", "countersign_grant_lag_seconds_count")
        return try await first + fleet.metric("worker-2", "countersign_grant_lag_seconds_count") == 1
      }
      #expect(try await fleet.metric("gateway-1", #"countersign_grants_total{action="given"}"#) == 1)
      // The same request again gets the first grant, whichever gateway it asks.
      let answer = try await fleet.send(
        "POST", fleet.url("/customers/7/grants", gateway: "gateway-2"),
        RunningFleet.publisherHeaders(RunningFleet.publisher),
        #"{\#(wish),"reason":"goodwill","expiresAt":"\#(given.grant?.expiresAt ?? "")"}"#)
      #expect(answer.status == 200 && String(decoding: answer.body, as: UTF8.self).contains(#""state":"ended""#))
    }
  }

  @Test func `a grant is withdrawn, listed, and no purchase is changed by it`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      #expect(try await fleet.register("1010000000001", id: "expired").status == 202)
      _ = try await fleet.finished(["expired"])
      let before = try await fleet.purchase("1010000000001", environment: "Production").body
      let given = try await fleet.give()
      let id = try #require(given.grant?.grantId, "\(given.text)")
      #expect(try await entitlement(fleet).rule == "granted")
      #expect(try await fleet.give(#""grantId":"\#(id)","offerId":"S2""#).status == 409)
      #expect(try await fleet.give(#""offerId":"none""#).status == 400)
      #expect(try await fleet.give(for: .seconds(-1)).status == 400)
      #expect(try await fleet.give(for: .seconds(367 * 86_400)).status == 400)
      #expect(try await fleet.give(to: 4_040_404).status == 404)
      for _ in 1...2 { #expect(try await fleet.withdraw(id).state == "withdrawn") }
      #expect(try await entitlement(fleet).rule == "expired")
      let changes = try await fleet.changes.wait { $0.filter { $0.after?.accessGranted == false }.count >= 1 }
      #expect(changes.last?.before?.accessGranted == true)
      #expect(try await fleet.purchase("1010000000001", environment: "Production").body?.version == before?.version)
      let list = try await fleet.send(
        "GET", fleet.url("/customers/7/grants"), RunningFleet.publisherHeaders(RunningFleet.publisher))
      let text = String(decoding: list.body, as: UTF8.self)
      #expect(list.status == 200 && text.contains(#""state":"withdrawn""#) && text.contains(id), "\(text)")
      let customer = [(name: "Authorization", value: "Bearer \(jwt(customer: 7, publisher: RunningFleet.publisher))")]
      #expect(try await fleet.send("GET", fleet.url("/customers/7/grants"), customer).status == 403)
    }
  }

  @Test func `a publisher's limits hold, and say what to do`() async throws {
    let limits = [
      "COUNTERSIGN_GATEWAY_LIMITS_OPEN_GRANTS_PER_CUSTOMER": "2", "COUNTERSIGN_GATEWAY_LIMITS_GRANTS_PER_DAY": "3",
    ]
    try await RunningFleet.with(["gateway-1", "gateway-2"], overrides: limits) { fleet in
      #expect(try await fleet.putCustomer(9).status < 300)
      for gateway in ["gateway-1", "gateway-2"] {
        #expect(try await fleet.give(gateway: gateway).status == 201)
      }
      let third = try await fleet.give(gateway: "gateway-2")
      #expect(third.status == 409 && third.text.contains("LIM0009"), "\(third.text)")
      #expect(try await fleet.give(to: 9).status == 201)
      let fourth = try await fleet.give(to: 9, gateway: "gateway-2")
      #expect(fourth.status == 429 && fourth.text.contains("LIM0010"), "\(fourth.text)")
      #expect(try await fleet.metric("gateway-2", #"countersign_limited_total{limit="customer_grants"}"#) == 1)
      #expect(try await fleet.metric("gateway-2", #"countersign_limited_total{limit="publisher_grants"}"#) == 1)
    }
  }
}
