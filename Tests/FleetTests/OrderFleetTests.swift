import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import ServerSupport
import TestSupport
import Testing

/// Order ids of Apple's receipts at a running fleet.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct OrderFleetTests {
  private struct Order: Decodable {
    struct Transaction: Decodable {
      struct Purchase: Decodable {
        struct Access: Decodable { let accessGranted: Bool }
        let customerId: String?
        let access: Access?
      }
      let transactionId: String
      let isKnown: Bool
      let revocationDate: String?
      let purchase: Purchase?
    }
    let orderId: String
    let bundleId: String
    let transactions: [Transaction]
  }

  private struct Failure: Decodable { let code: String }

  private func ask(
    _ fleet: RunningFleet, _ id: String, _ headers: [(name: String, value: String)]? = nil
  ) async throws -> HTTPClientResponse {
    try await fleet.send(
      "GET", fleet.url("/orders/\(id)"), headers ?? RunningFleet.publisherHeaders(RunningFleet.publisher))
  }

  private func code(_ response: HTTPClientResponse) -> String? {
    try? JSONDecoder().decode(Failure.self, from: Data(response.body)).code
  }

  @Test func `a purchase is found by its order id, and an unknown one is only told`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      #expect(try await fleet.register("1000000000001", id: "bought").status == 202)
      _ = try await fleet.finished(["bought"])
      let answer = try await ask(fleet, "m1000000000001M1020000000002")
      #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
      let order = try JSONDecoder().decode(Order.self, from: Data(answer.body))
      #expect(order.orderId == "M1000000000001M1020000000002" && order.bundleId == "com.example.app")
      #expect(order.transactions.map(\.transactionId) == ["1000000000001", "1020000000002"])
      let (known, other) = (order.transactions[0], order.transactions[1])
      #expect(known.isKnown && known.purchase?.customerId == "7" && known.purchase?.access?.accessGranted == true)
      #expect(!other.isKnown && other.purchase == nil && other.revocationDate != nil)
      // A look-up registers nothing.
      #expect(try await fleet.count("purchases") == 1)

      let unknown = try await ask(fleet, "MK5TTTVWJH")
      #expect(unknown.status == 404 && code(unknown) == "ORD0001")
      let wrong = try await ask(fleet, "M1-2")
      #expect(wrong.status == 400 && code(wrong) == "REQ0003")
      let away = try await ask(fleet, "M1320000000001")
      #expect(away.status == 503 && code(away) == "ORD0002" && away.header("retry-after") == "5")
      #expect(code(try await ask(fleet, "M1410000000001")) == "ORD0002")
      #expect(try await ask(fleet, "M1", []).status == 401)
      // Apple's 429 stops the next call, too: it would be answered.
      let limited = try await ask(fleet, "M1300000000001")
      #expect(limited.status == 429 && code(limited) == "LIM0011" && limited.header("retry-after") != nil)
      let line = #"countersign_limited_total{limit="order_lookups"}"#
      #expect(try await fleet.metric("gateway-1", line) >= 1)
      try await eventually("Apple may be asked again") { try await ask(fleet, "M1300000000001").status == 200 }
    }
  }

  @Test func `a publisher that loops leaves half of the calls to others`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"], overrides: ["COUNTERSIGN_APP_STORE_BUDGET_SCALE": "0.2"]) {
      fleet in
      var (answered, refused, start) = (0, 0, ContinuousClock.now)
      while refused == 0, answered < 500 {
        let answer = try await ask(fleet, "M1000000000001")
        if answer.status == 200 { answered += 1 } else { refused += 1 }
        if answered == 1 { start = ContinuousClock.now }
      }
      // One a second, of the two that the fleet may make.
      #expect(refused == 1 && Double(answered) <= 3 + 1.1 * ((ContinuousClock.now - start) / .seconds(1)))
      #expect(try await fleet.metric("gateway-1", #"countersign_limited_total{limit="order_share"}"#) == 1)
    }
  }

  @Test func `the fleet asks no more than Apple allows`() async throws {
    let scale = ["COUNTERSIGN_APP_STORE_BUDGET_SCALE": "0.001"]
    try await RunningFleet.with(["gateway-1", "gateway-2", "worker-1"], overrides: scale) { fleet in
      // A call in a hundred seconds: whichever gateway is asked first takes it.
      #expect(try await ask(fleet, "M1000000000001").status == 200)
      let headers = RunningFleet.publisherHeaders(RunningFleet.publisher)
      let second = try await fleet.send("GET", fleet.url("/orders/M1000000000001", gateway: "gateway-2"), headers)
      #expect(second.status == 429 && code(second) == "LIM0011")
      let wait = try #require(second.header("retry-after").flatMap { Int($0) })
      #expect((1...100).contains(wait))
    }
  }
}
