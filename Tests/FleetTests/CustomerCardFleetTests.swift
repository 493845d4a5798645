import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import ServerSupport
import Simulator
import TestSupport
import Testing

/// A card for helpdesks, of a running fleet.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct CustomerCardFleetTests {
  private struct Card: Decodable {
    struct Entitlement: Decodable {
      struct Charge: Decodable {
        let at: String
        let currency: String?
        let price: Int64?
      }
      let accessGranted: Bool
      let offerName: String
      let nextCharge: Charge?
      let summary: String
      let why: String
    }
    let customerId: String
    let entitlements: [Entitlement]
    let page: String?
  }

  private func ask(
    _ fleet: RunningFleet, _ path: String, _ headers: [(name: String, value: String)]? = nil
  ) async throws -> HTTPClientResponse {
    try await fleet.send("GET", fleet.url(path), headers ?? fleet.headers(RunningFleet.publisher))
  }

  @Test func `a helpdesk reads a customer's card, by the id and by the address`() async throws {
    let url = ["COUNTERSIGN_CONSOLE_PUBLIC_URL": "https://support.example.com/c"]
    try await RunningFleet.with(["gateway-1", "worker-1"], overrides: url) { fleet in
      #expect(try await fleet.putCustomer("7", #"{"email": "Ada@example.com"}"#).status == 200)
      // A notification brings the renewal info, and with it the next charge.
      let posts = await fleet.simulator.control(
        "PUT", "/simulator/notifications", #"{"urls": ["\#(fleet.url("/apple/notifications"))"], "version": 2}"#)
      #expect(posts.status == 200, "\(String(decoding: posts.body, as: UTF8.self))")
      try await fleet.begin(lives: [#"{"originalTransactionId": "20000000000800", "periodSeconds": 3600}"#])
      #expect(try await fleet.register("20000000000800", id: "bought").status == 202)
      _ = try await fleet.finished(["bought"])
      try await eventually("the renewal info is there") {
        try await String(decoding: ask(fleet, "/customers/7/card").body, as: UTF8.self).contains("nextCharge")
      }
      let answer = try await ask(fleet, "/customers/7/card")
      #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
      let card = try JSONDecoder().decode(Card.self, from: Data(answer.body))
      #expect(card.customerId == "7" && card.page == "https://support.example.com/c/customers/1001/7")
      let entitlement = try #require(card.entitlements.first)
      #expect(card.entitlements.count == 1 && entitlement.accessGranted)
      #expect(entitlement.offerName == "Video, by the month")
      #expect(entitlement.nextCharge?.price == 9990 && entitlement.nextCharge?.currency == "USD")
      #expect(entitlement.summary.hasPrefix("Has access, and renews on 2"), "\(entitlement.summary)")
      #expect(entitlement.why == "The period of the subscription is paid and not over.")
      let found = try await ask(fleet, "/storekit2/card?email=ada%40EXAMPLE.com")
      let same = try JSONDecoder().decode(Card.self, from: Data(found.body))
      #expect(found.status == 200 && same.customerId == "7" && same.entitlements.count == 1)

      #expect(try await fleet.putCustomer("8").status == 201)
      let nothing = try await ask(fleet, "/customers/8/card")
      #expect(try JSONDecoder().decode(Card.self, from: Data(nothing.body)).entitlements.isEmpty)
      for path in ["/customers/9/card", "/card?email=eve%40example.com"] {
        #expect(try await ask(fleet, path).status == 404, "\(path)")
      }
      for path in ["/card", "/card?email=x", "/card?email=a%40b&customerId=7", "/customers/%00/card"] {
        #expect(try await ask(fleet, path).status == 400, "\(path)")
      }
      // Its words are for the publisher's people.
      let token = [(name: "Authorization", value: "Bearer \(jwt(customer: 7, publisher: RunningFleet.publisher))")]
      for path in ["/customers/7/card", "/card?email=ada%40example.com"] {
        #expect(try await ask(fleet, path, token).status == 403)
        #expect(try await ask(fleet, path, []).status == 401)
        #expect(try await ask(fleet, path, fleet.headers(RunningFleet.openPublisher)).status == 404)
      }
      #expect(try await fleet.metric("gateway-1", #"countersign_http_requests_total{route="card",status="200"}"#) >= 4)
    }
  }
}
