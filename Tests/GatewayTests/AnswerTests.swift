import Domain
import Formats
import HTTPServer
import Redis
import Testing

@testable import Gateway

/// Problems as answers.
struct ProblemTests {
  private func text(_ response: HTTPServerResponse) -> String { String(decoding: response.body, as: UTF8.self) }
  private func header(_ name: String, _ response: HTTPServerResponse) -> [String] {
    response.headers.filter { $0.name == name }.map(\.value)
  }

  @Test func leastShape() {
    let response = Problem.internalError.response
    #expect(response.status == 500)
    #expect(
      text(response)
        == #"{"code":"S0001","message":"Internal Server Error","status":500,"title":"Internal Server Error","#
        + #""type":"about:blank"}"#)
    #expect(header("Content-Type", response) == ["application/problem+json"])
    #expect(header("Cache-Control", response) == ["no-store"])
    #expect(header("Retry-After", response).isEmpty)
  }

  @Test func everyMember() {
    let response = Problem.locked(instance: "/storekit2/purchases/synchronizations/a").response
    #expect(response.status == 409)
    #expect(
      text(response)
        == #"{"code":"SK2C0101","instance":"/storekit2/purchases/synchronizations/a","#
        + #""message":"The resource is temporarily locked due to a concurrent request.","status":409,"#
        + #""title":"The resource is temporarily locked due to a concurrent request.","type":"about:blank"}"#)
    #expect(header("Retry-After", response) == ["1"])
    #expect(header("Retry-After", Problem.locked(instance: nil).response).isEmpty)
  }

  @Test func details() {
    #expect(text(Problem.invalidBody("a \"b\"").response).contains(#""detail":"a \"b\"""#))
    #expect(header("Retry-After", Problem.unavailable("x").response) == ["2"])
    #expect(header("Retry-After", Problem.tooManyRequests("x", retryAfter: 7).response) == ["7"])
    #expect(text(Problem.tooLarge(16384).response).contains(#""detail":"The limit is 16384 bytes.""#))
    let long = Problem.unknownPath(["a", String(repeating: "b", count: 200)])
    #expect(long.detail?.utf8.count ?? 0 < 200 && long.detail?.contains("/a/bbb") == true)
  }

  @Test func furtherHeaders() {
    #expect(header("Allow", Problem.methodNotAllowed(["GET", "HEAD"]).response) == ["GET, HEAD"])
    #expect(header("WWW-Authenticate", Problem.missingCredential.response) == [#"Bearer realm="countersign""#])
    #expect(
      header("WWW-Authenticate", Problem.invalidCredential("x").response)
        == [#"Bearer realm="countersign", error="invalid_token""#])
  }

  @Test func documentedCodes() {
    let problems: [(Problem, Int, String)] = [
      (.invalidBody(""), 400, "REQ0001"), (.invalidPath(""), 400, "REQ0003"), (.invalidHeaders(""), 400, "REQ0004"),
      (.notFound(""), 404, "REQ0100"), (.unknownCustomer("1"), 422, "SK2C0100"), (.notActivated, 500, "SK2C0004"),
      (.locked(instance: nil), 409, "SK2C0101"), (.internalError, 500, "S0001"), (.forbidden(""), 403, "AUTH0003"),
      (.missingCredential, 401, "AUTH0001"), (.invalidCredential(""), 401, "AUTH0002"), (.tooLarge(1), 413, "REQ0413"),
      (.unsupportedMediaType, 415, "REQ0415"), (.unavailable(""), 503, "S0503"),
      (.tooManyRequests("", retryAfter: 1), 429, "REQ0429"), (.tooManyEndpoints(7), 409, "LIM0017"),
    ]
    for (problem, status, code) in problems {
      #expect(problem.response.status == status)
      #expect(problem.code == code)
    }
  }

  @Test func `each limit has a code of its own, and only what time makes free says when to come again`() {
    let codes = Limit.allCases.map { Problem.limited($0, .zero).code }
    // A publisher's share of the calls for orders is a part of the limit for all.
    #expect(Set(codes).count == Limit.allCases.count - 1)
    #expect(Problem.limited(.publisherOpen, .milliseconds(1001)).retryAfter == 2)
    let full = Problem.tooManyEndpoints(7)
    #expect(full.retryAfter == nil && full.code == Problem.limited(.webhookEndpoints, .zero).code)
    #expect(full.detail?.contains("7 endpoints") == true)
  }

  @Test func whatOnlyANewerProcessReadsIsUnavailableAndNoErrorOfOurs() {
    func problem(_ cause: String) -> Problem {
      .store(RedisError(.reply, operation: "script claim", target: "Redis", cause: cause))
    }
    #expect(problem("NEWER cs:sync:1:s has version 2, and this process reads 1").response.status == 503)
    #expect(problem("NEWERR and anything else").response.status == 500)
  }
}

/// The answer with the status of a synchronization.
struct StatusAnswerTests {
  private func answer(_ status: Synchronization.Status, _ result: SynchronizationResult? = nil) -> HTTPServerResponse {
    return StatusAnswer(
      Synchronization(
        id: "sync/1", publisherId: 7, customerId: "42", transactionId: "100", status: status, result: result,
        version: 3, finalizedAt: 1, traceparent: "hidden")
    ).response
  }

  @Test(arguments: [(Synchronization.Status.processing, "1"), (.retrying, "5")])
  func open(status: Synchronization.Status, pause: String) {
    let response = answer(status)
    #expect(response.status == 200)
    #expect(
      String(decoding: response.body, as: UTF8.self)
        == #"{"status":"\#(status.rawValue)","synchronizationId":"sync/1","transactionId":"100"}"#)
    #expect(response.headers.filter { $0.name == "Retry-After" }.map(\.value) == [pause])
  }

  @Test func granted() {
    let response = answer(
      .finalized,
      SynchronizationResult(
        .purchaseSynchronized, accessGranted: true, offerId: "S1", originalTransactionId: "99", environment: "Sandbox"))
    #expect(
      String(decoding: response.body, as: UTF8.self)
        == #"{"accessGranted":true,"environment":"Sandbox","offerId":"S1","originalTransactionId":"99","#
        + #""result":"PURCHASE_SYNCHRONIZED","#
        + #""status":"finalized","synchronizationId":"sync/1","transactionId":"100","version":3}"#)
    #expect(response.headers.map(\.name).sorted() == ["Cache-Control", "Content-Type"])
  }

  @Test func refused() {
    let response = answer(.finalized, SynchronizationResult(.transactionIdNotFound))
    #expect(
      String(decoding: response.body, as: UTF8.self)
        == #"{"accessGranted":false,"result":"TRANSACTION_ID_NOT_FOUND","status":"finalized","#
        + #""synchronizationId":"sync/1","transactionId":"100","version":3}"#)
  }
}

/// The path of a synchronization; a client may have chosen the id.
struct StatusPathTests {
  @Test(arguments: [
    ("abc-._~09AZ", "abc-._~09AZ"), ("a/b", "a%2Fb"), ("a b", "a%20b"), ("%2F", "%252F"), ("a?b#c", "a%3Fb%23c"),
    ("é", "%C3%A9"), ("\u{1}", "%01"), ("a|b+c&d", "a%7Cb%2Bc%26d"),
  ])
  func encoding(id: String, encoded: String) {
    #expect(statusPath(SynchronizationId(id)) == "/storekit2/purchases/synchronizations/" + encoded)
  }
}
