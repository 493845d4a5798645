import Crypto
import Domain
import EventLoop
import HTTP
import Testing

@testable import AppStore

/// Send Consumption Information, as Apple sees it.
@LoopActor
struct ConsumptionCallTests {
  private let answer = ConsumptionAnswer(.delivered, percentage: 5, preference: .decline, isSampleProvided: true)

  private func send(
    _ id: String, in environment: Environment, _ response: HTTPClientResponse
  ) async throws -> (AppleCorrelation, HTTPClientRequest?) {
    let recorder = ServerAPITests.Recorder(response)
    let now = ServerAPITests.now
    let api = AppStoreServerAPI(
      AppStoreServerAPI.Configuration(), now: { now },
      transport: { request throws(HTTPClientError) in try await recorder.send(request) })
    let app = AppCredentials(bundleId: "com.example", issuerId: "issuer", keyId: "KEY", key: try .generate())
    return (
      try await api.sendConsumption(answer, about: TransactionId(id), in: environment, for: app),
      recorder.requests.first
    )
  }

  @Test func `version 2 is put, and 202 without a body is a success`() async throws {
    let response = HTTPClientResponse(
      status: 202, headers: [(name: "x-apple-request-uuid", value: "UUID")], body: [])
    let (correlation, request) = try await send("2000000123", in: .sandbox, response)
    #expect(correlation == AppleCorrelation(requestUUID: "UUID"))
    #expect(request?.method == "PUT" && request?.body == answer.body)
    #expect(
      request?.url == "https://api.storekit-sandbox.apple.com/inApps/v2/transactions/consumption/2000000123")
    #expect(request?.headers.last?.name == "Content-Type" && request?.headers.last?.value == "application/json")
  }

  @Test func `Apple's refusal keeps its code`() async throws {
    let body = Array(#"{"errorCode":4000047,"errorMessage":"m"}"#.utf8)
    let error = await #expect(throws: AppStoreAPIError.self) {
      try await send("1", in: .production, HTTPClientResponse(status: 400, headers: [], body: body))
    }
    #expect(error?.code == .invalidTransactionTypeNotSupported && error?.endpoint == .consumption)
  }

  @Test func `an id is checked before it enters the URL`() async throws {
    let error = await #expect(throws: AppStoreAPIError.self) {
      try await send("1/../2", in: .production, HTTPClientResponse(status: 202, headers: [], body: []))
    }
    guard case .invalidRequest? = error?.kind else { throw try #require(error) }
  }
}
