import Crypto
import Domain
import EventLoop
import HTTP
import Testing

@testable import AppStore

/// Look Up Order ID, as Apple sees it, and its answer as a role sees it.
@LoopActor
struct OrderCallTests {
  private func ask(
    _ body: String, about id: OrderId = "MK5TTTVWJH", status: Int = 200
  ) async throws -> (OrderLookupResponse, HTTPClientRequest?) {
    let recorder = ServerAPITests.Recorder(HTTPClientResponse(status: status, headers: [], body: Array(body.utf8)))
    let now = ServerAPITests.now
    let api = AppStoreServerAPI(
      AppStoreServerAPI.Configuration(), now: { now },
      transport: { request throws(HTTPClientError) in try await recorder.send(request) })
    let app = AppCredentials(bundleId: "com.example", issuerId: "issuer", keyId: "KEY", key: try .generate())
    return (try await api.lookUpOrder(id, for: app).body, recorder.requests.first)
  }

  @Test func `production is asked, and an order has transactions`() async throws {
    let (answer, request) = try await ask(body(0, "\"a.b.c\",\"d.e.f\""))
    #expect(answer == OrderLookupResponse(.valid, ["a.b.c", "d.e.f"]))
    #expect(request?.method == "GET" && request?.body == nil)
    #expect(request?.url == "https://api.storekit.apple.com/inApps/v1/lookup/MK5TTTVWJH")
  }

  private func body(_ status: Int64, _ transactions: String) -> String {
    "{\"status\":\(status),\"signedTransactions\":[\(transactions)],\"new\":1}"
  }

  @Test(arguments: [
    (#"{"status":1}"#, OrderLookupResponse(.invalid)), (#"{"status":1,"signedTransactions":null}"#, .init(.invalid)),
    (#"{"status":7,"signedTransactions":[]}"#, .init(.init(rawValue: 7))),
  ])
  func `an unknown order has none`(body: String, answer: OrderLookupResponse) async throws {
    #expect(try await ask(body).0 == answer)
  }

  @Test(arguments: [
    "", "[]", "{}", #"{"signedTransactions":["a"]}"#, #"{"status":"0"}"#, #"{"status":0,"signedTransactions":[1]}"#,
    #"{"status":0,"signedTransactions":"a"}"#, #"{"status":1e99}"#,
  ])
  func `anything else is no answer`(body: String) async throws {
    let error = await #expect(throws: AppStoreAPIError.self) { try await ask(body) }
    guard case .malformedAnswer? = error?.kind else { throw try #require(error) }
    #expect(error?.endpoint == .orderLookup && error?.label == "malformed_answer")
  }

  @Test func `an answer has a bounded number of transactions`() async throws {
    let most = OrderLookupResponse.mostTransactions
    func list(_ count: Int) -> String { Array(repeating: "\"a\"", count: count).joined(separator: ",") }
    #expect(try await ask(body(0, list(most))).0.signedTransactions.count == most)
    let error = await #expect(throws: AppStoreAPIError.self) { try await ask(body(0, list(most + 1))) }
    guard case .malformedAnswer? = error?.kind else { throw try #require(error) }
  }

  @Test(arguments: ["", "MK5/../X", "MK5?x", "mk5", "MK5 T"])
  func `an id is checked before it enters the URL`(id: String) async throws {
    let error = await #expect(throws: AppStoreAPIError.self) { try await ask(body(0, ""), about: OrderId(id)) }
    guard case .invalidRequest? = error?.kind else { throw try #require(error) }
  }

  @Test func `Apple's refusal keeps its code, and the limit is Apple's`() async throws {
    let error = await #expect(throws: AppStoreAPIError.self) {
      try await ask(#"{"errorCode":4000000,"errorMessage":"m"}"#, status: 400)
    }
    #expect(error?.code == .generalBadRequest && error?.endpoint == .orderLookup)
    #expect(AppStoreEndpoint.orderLookup.callsPerSecond(in: .production) == 10)
  }
}
