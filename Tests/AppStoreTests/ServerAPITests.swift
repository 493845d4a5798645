import Crypto
import Domain
import EventLoop
import FoundationEssentials
import HTTP
import Testing

@testable import AppStore

/// The calls as Apple sees them, and its answers as the worker sees them.
@LoopActor
struct ServerAPITests {
  /// Answers every request with one response and keeps the requests.
  @LoopActor
  final class Recorder {
    var requests: [HTTPClientRequest] = []
    var response: HTTPClientResponse
    var failure: HTTPClientError?
    nonisolated init(_ response: HTTPClientResponse) { self.response = response }

    func send(_ request: HTTPClientRequest) async throws(HTTPClientError) -> HTTPClientResponse {
      requests.append(request)
      if let failure { throw failure }
      return response
    }
  }

  static let now: Int64 = 1_700_000_000_000

  private func api(_ recorder: Recorder, now: Int64 = now) -> AppStoreServerAPI {
    AppStoreServerAPI(
      AppStoreServerAPI.Configuration(), now: { now },
      transport: { request throws(HTTPClientError) in try await recorder.send(request) })
  }

  private func app() throws -> AppCredentials {
    AppCredentials(bundleId: "com.example", issuerId: "issuer", keyId: "KEY", key: try .generate())
  }

  private static func json(_ status: Int, _ text: String, _ headers: [(name: String, value: String)] = [])
    -> HTTPClientResponse
  {
    HTTPClientResponse(status: status, headers: headers, body: Array(text.utf8))
  }

  private func error(of response: HTTPClientResponse) async throws -> AppStoreAPIError {
    let api = api(Recorder(response))
    let app = try app()
    let error = await #expect(throws: AppStoreAPIError.self) {
      try await api.transactionInfo("1", in: .production, for: app)
    }
    return try #require(error)
  }

  @Test func transactionInfo() async throws {
    let recorder = Recorder(
      Self.json(
        200, #"{"signedTransactionInfo":"a.b.c","new":1}"#,
        [
          (name: "x-apple-jingle-correlation-key", value: "JINGLE"),
          (name: "x-apple-request-uuid", value: "UUID"),
        ]))
    let app = try app()
    let answer = try await api(recorder).transactionInfo("2000000123", in: .sandbox, for: app)
    #expect(answer.body.signedTransactionInfo == "a.b.c")
    #expect(answer.correlation == AppleCorrelation(jingleCorrelationKey: "JINGLE", requestUUID: "UUID"))
    let request = try #require(recorder.requests.first)
    #expect(request.method == "GET" && request.body == nil)
    #expect(request.url == "https://api.storekit-sandbox.apple.com/inApps/v1/transactions/2000000123")
    #expect(request.maxResponseBytes == 1 << 20)
    #expect(request.headers.map(\.name) == ["Authorization", "Accept"])
  }

  @Test func bearerToken() async throws {
    let app = try app()
    var tokens = BearerTokens()
    let authorization = try tokens.authorization(for: app, now: Self.now)
    #expect(authorization.hasPrefix("Bearer "))
    let parts = authorization.dropFirst(7).split(separator: ".").map(String.init)
    #expect(
      Base64URL.decode(parts[0]).map { String(decoding: $0, as: UTF8.self) }
        == #"{"alg":"ES256","kid":"KEY","typ":"JWT"}"#)
    #expect(
      Base64URL.decode(parts[1]).map { String(decoding: $0, as: UTF8.self) }
        == #"{"aud":"appstoreconnect-v1","bid":"com.example","exp":1700001200,"iat":1700000000,"iss":"issuer"}"#)
    let signature = try #require(Base64URL.decode(parts[2]))
    #expect(app.key.publicKey.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8)))

    #expect(try tokens.authorization(for: app, now: Self.now + 599_000) == authorization)
    #expect(try tokens.authorization(for: app, now: Self.now + 600_000) != authorization)
    // ECDSA is random, so a second signature of the same claims gives another text.
    #expect(try tokens.authorization(for: app, now: Self.now - 1000) != authorization)
    let other = AppCredentials(bundleId: "com.other", issuerId: "issuer", keyId: "KEY", key: app.key)
    #expect(try tokens.authorization(for: other, now: Self.now) != authorization)
    let exchanged = AppCredentials(bundleId: "com.example", issuerId: "issuer", keyId: "KEY", key: try .generate())
    let current = try tokens.authorization(for: app, now: Self.now)
    #expect(try tokens.authorization(for: exchanged, now: Self.now) != current)
  }

  @Test(arguments: ["", "1/../2", "1?x", "abc", "１２", "1 ", String(repeating: "1", count: 65), "1%2f"])
  func idsAreCheckedBeforeTheyEnterAURL(id: String) async throws {
    let recorder = Recorder(Self.json(200, "{}"))
    let api = api(recorder)
    let app = try app()
    let error = await #expect(throws: AppStoreAPIError.self) {
      try await api.subscriptionStatuses(TransactionId(id), in: .production, for: app)
    }
    guard case .invalidRequest? = error?.kind else { throw try #require(error) }
    #expect(recorder.requests.isEmpty)
  }

  @Test func unsignedEnvironmentsHaveNoServer() async throws {
    let api = api(Recorder(Self.json(200, "{}")))
    let app = try app()
    await #expect(throws: AppStoreAPIError.self) { try await api.transactionInfo("1", in: .xcode, for: app) }
  }

  @Test func queriesAndBodies() async throws {
    let recorder = Recorder(Self.json(200, "{}"))
    let api = api(recorder)
    let app = try app()
    let history = NotificationHistoryRequest(startDate: 1, endDate: 2)
    _ = try await api.notificationHistory(history, paginationToken: nil, in: .production, for: app)
    #expect(recorder.requests[0].method == "POST")
    #expect(recorder.requests[0].url.hasSuffix("/inApps/v1/notifications/history"))
    #expect(recorder.requests[0].body.map { String(decoding: $0, as: UTF8.self) } == #"{"endDate":2,"startDate":1}"#)
    #expect(recorder.requests[0].headers.last?.value == "application/json")
    _ = try await api.notificationHistory(history, paginationToken: "a&b=/+ü", in: .production, for: app)
    #expect(recorder.requests[1].url.hasSuffix("/history?paginationToken=a%26b%3D%2F%2B%C3%BC"))
  }

  @Test(arguments: [
    (404, 4_040_010, "TransactionIdNotFoundError"), (404, 4_040_002, "AccountNotFoundRetryableError"),
    (404, 4_040_004, "AppNotFoundRetryableError"), (404, 4_040_006, "OriginalTransactionIdNotFoundRetryableError"),
    (500, 5_000_000, "GeneralInternalError"), (500, 5_000_001, "GeneralInternalRetryableError"),
    (400, 4_000_006, "InvalidTransactionIdError"), (400, 9_990_000, nil),
  ])
  func codes(status: Int, code: Int64, name: String?) async throws {
    let error = try await error(of: Self.json(status, "{\"errorCode\":\(code),\"errorMessage\":\"m\"}"))
    #expect(error.code?.rawValue == code && error.code?.name == name)
    #expect(error.message == "m")
    #expect(error.endpoint == .transactionInfo)
  }

  @Test func answersWithoutACode() async throws {
    for text in ["", "Unauthenticated\n", "{}"] {
      let error = try await error(of: Self.json(401, text))
      #expect(error.description == "transaction-info: not authorized")
    }
    let gateway = try await error(of: Self.json(502, "<html>"))
    #expect(gateway.description == "transaction-info: HTTP status 502")
    #expect(try await error(of: Self.json(200, "<html>")).description.hasSuffix("malformed"))
    #expect(try await error(of: Self.json(302, "")).description.hasSuffix("HTTP status 302"))
  }

  @Test func rateLimit() async throws {
    let body = #"{"errorCode":4290000,"errorMessage":"Rate limit exceeded."}"#
    let error = try await error(of: Self.json(429, body, [(name: "retry-after", value: "\(Self.now + 5000)")]))
    guard case .rateLimited(let time) = error.kind else { throw error }
    #expect(time == Self.now + 5000)
    let silent = try await self.error(of: Self.json(429, ""))
    guard case .rateLimited(nil) = silent.kind else { throw silent }
  }

  @Test func transportErrors() async throws {
    let recorder = Recorder(Self.json(200, "{}"))
    let api = api(recorder)
    let app = try app()
    for code in [HTTPClientError.Code.timeout, .interrupted, .invalidRequest] {
      recorder.failure = HTTPClientError(code: code, target: "GET host", cause: "test")
      let error = await #expect(throws: AppStoreAPIError.self) {
        try await api.transactionInfo("1", in: .production, for: app)
      }
      guard case .transport(let cause)? = error?.kind else { throw try #require(error) }
      #expect(cause.code == code)
    }
  }
}
