import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import ServerSupport
import Testing

/// What clients read from the ledger, and how a purchase moves.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct LedgerAnswerTests {
  private struct Entitlement: Decodable {
    let accessGranted: Bool
    let rule: String
    let customerVersion: Int64
  }

  private struct Purchase: Decodable {
    let customerId: String?
    let version: Int64
    let subscriptionId: Int64?
    let ownerships: [Ownership]
    struct Ownership: Decodable { let customerId: String? }
  }

  private func token(_ customer: Int64) -> [(name: String, value: String)] {
    [("Authorization", "Bearer \(jwt(customer: customer, publisher: RunningFleet.publisher))")]
  }

  private func read<Answer: Decodable>(
    _ path: String, _ fleet: RunningFleet, method: String = "GET", as headers: [(name: String, value: String)]? = nil
  ) async throws -> (status: Int, answer: Answer?) {
    let response = try await fleet.send(method, fleet.url(path), headers ?? fleet.headers(RunningFleet.publisher))
    return (
      response.status,
      response.status == 200 ? try JSONDecoder().decode(Answer.self, from: Data(response.body)) : nil
    )
  }

  @Test func `a purchase gives access, moves, and is released`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      let original = "1000000000001"
      #expect(try await fleet.putCustomer(8).status == 201)
      #expect(try await fleet.register(original, id: "a").status == 202)
      _ = try await fleet.finished(["a"])

      // Once the event is there, the answers are not behind it.
      func entitlement(_ customer: Int64) async throws -> Entitlement? {
        try await read("/customers/\(customer)/entitlements/S1", fleet).answer
      }
      let before = try #require(try await entitlement(7))
      #expect(before.accessGranted && before.rule == "subscriptionActive" && before.customerVersion >= 1)
      #expect(try await entitlement(8)?.rule == "noPurchase")
      let first: Purchase = try #require(try await read("/purchases/\(original)", fleet).answer)
      #expect(first.customerId == "7" && first.ownerships.map(\.customerId) == ["7"])

      // A customer sees its own.
      func status(_ path: String, _ headers: [(name: String, value: String)]) async throws -> Int {
        try await fleet.send("GET", fleet.url(path), headers).status
      }
      #expect(try await status("/customers/7/entitlements", token(7)) == 200)
      #expect(try await status("/customers/7/purchases", token(8)) == 403)
      #expect(try await status("/purchases/\(original)", token(7)) == 200)
      #expect(try await status("/purchases/\(original)", token(8)) == 404)
      #expect(try await status("/customers/9/entitlements", fleet.headers(RunningFleet.publisher)) == 404)
      #expect(try await status("/customers/7/entitlements/none", fleet.headers(RunningFleet.publisher)) == 404)

      // A transfer.
      let body = "{\"cleengCustomerId\":8,\"transactionId\":\"\(original)\"}"
      let refused = try await fleet.send(
        "POST", fleet.url("/storekit2/purchases/transfers"), token(8) + [("Content-Type", "application/json")], body)
      #expect(refused.status == 403)
      let transfer = try await fleet.send(
        "POST", fleet.url("/storekit2/purchases/transfers"),
        fleet.headers(RunningFleet.publisher) + [("Correlation-Id", "move")], body)
      #expect(transfer.status == 202)
      #expect(transfer.header("location") == "/storekit2/purchases/synchronizations/move")
      let moved = try await fleet.finished(["move"]).first { $0.synchronizationId == "move" }
      #expect(moved?.result == "PURCHASE_OWNERSHIP_TRANSFERRED")
      #expect(try await entitlement(7)?.accessGranted == false)
      #expect(try await entitlement(8)?.accessGranted == true)
      let second: Purchase = try #require(try await read("/purchases/\(original)", fleet, as: token(8)).answer)
      #expect(second.customerId == "8" && second.version > first.version)
      #expect(second.subscriptionId != first.subscriptionId)
      #expect(second.ownerships.map(\.customerId) == ["8"], "the other owner is no business of a customer's")

      // A release.
      let release = "/purchases/\(original)/release"
      let refusal: (status: Int, answer: Purchase?) = try await read(release, fleet, method: "POST", as: token(8))
      #expect(refusal.status == 403)
      let free: Purchase = try #require(try await read(release, fleet, method: "POST").answer)
      #expect(free.customerId == nil && free.version == second.version + 1)
      #expect(free.ownerships.map(\.customerId) == ["7", "8"])
      #expect(try await entitlement(8)?.rule == "noPurchase")
      let again: Purchase = try #require(try await read(release, fleet, method: "POST").answer)
      #expect(again.version == free.version)
    }
  }

  @Test func `a kept result never claims access that entitlements deny`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      let original = "1000000000001"
      let headers = fleet.headers(RunningFleet.publisher)
      func register(_ id: String, _ customer: Int64 = 7) async throws -> Int {
        let answer = try await fleet.register(original, customer: customer, id: id)
        if answer.status == 400 { #expect(String(decoding: answer.body, as: UTF8.self).contains("\"REQ0004\"")) }
        return answer.status
      }
      func granted(_ id: String) async throws -> Bool? {
        let status = try await fleet.status(id)
        #expect(status?.status == "finalized" && (status?.offerId != nil) == status?.accessGranted)
        return status?.accessGranted
      }
      #expect(try await register("a") == 202)
      _ = try await fleet.finished(["a"])
      #expect(try await register("a") == 202)
      #expect(try await granted("a") == true)

      // A transfer, and the release of what it gave.
      #expect(try await fleet.putCustomer(8).status == 201)
      func transfer(_ id: String) async throws -> Int {
        let body = "{\"cleengCustomerId\":8,\"transactionId\":\"\(original)\"}"
        return try await fleet.send(
          "POST", fleet.url("/storekit2/purchases/transfers"), headers + [("Correlation-Id", id)], body
        ).status
      }
      #expect(try await transfer("move") == 202)
      _ = try await fleet.finished(["move"])
      #expect(try await granted("a") == false)
      #expect(try await fleet.status("a")?.result == "PURCHASE_SYNCHRONIZED")
      #expect(try await register("a") == 400)
      #expect(try await granted("move") == true)
      #expect(try await transfer("move") == 202)
      #expect(try await fleet.send("POST", fleet.url("/purchases/\(original)/release"), headers).status == 200)
      #expect(try await granted("move") == false)
      #expect(try await transfer("move") == 400)

      // An erasure, and the customer who comes back.
      #expect(try await register("b") == 202)
      _ = try await fleet.finished(["b"])
      #expect(try await granted("b") == true)
      #expect(try await fleet.send("POST", fleet.url("/purchases/\(original)/release"), headers).status == 200)
      #expect(try await fleet.send("DELETE", fleet.url("/customers/7"), headers).status == 200)
      #expect(try await granted("b") == false)
      #expect(try await fleet.putCustomer(7).status == 201)
      #expect(try await register("b") == 400)
      #expect(try await granted("b") == false)
      let none: Entitlement? = try await read("/customers/7/entitlements/S1", fleet).answer
      #expect(none?.accessGranted == false)
      #expect(try await register("c") == 202)
      _ = try await fleet.finished(["c"])
      #expect(try await granted("c") == true)
    }
  }
}
