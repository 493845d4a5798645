import Crypto
import Testing

@testable import Notifier

/// The signature of a webhook.
struct WebhookSignatureTests {
  /// The vector that the specification publishes.
  @Test func standardWebhooksVector() throws {
    let secret = try #require(Base64.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
    let signature = WebhookSignature.v1(
      id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: Array(#"{"test": 2432232314}"#.utf8),
      secret: secret)
    #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
  }

  @Test func everyPartIsSigned() {
    let secret = Array("secret".utf8)
    let signatures = [
      WebhookSignature.v1(id: "a", timestamp: 1, body: [1], secret: secret),
      WebhookSignature.v1(id: "b", timestamp: 1, body: [1], secret: secret),
      WebhookSignature.v1(id: "a", timestamp: 2, body: [1], secret: secret),
      WebhookSignature.v1(id: "a", timestamp: 1, body: [2], secret: secret),
      WebhookSignature.v1(id: "a", timestamp: 1, body: [1], secret: secret + [0x21]),
    ]
    #expect(Set(signatures).count == signatures.count)
  }
}

/// What follows from an endpoint's answer.
struct AttemptVerdictTests {
  private let schedule: [Duration] = [.seconds(5), .seconds(300)]

  private func verdict(_ status: Int, retryAfter: Int? = nil, attempt: Int = 1) -> AttemptVerdict {
    AttemptVerdict(status: status, retryAfter: retryAfter, attempt: attempt, schedule: schedule)
  }

  @Test(arguments: [200, 201, 202, 204, 299]) func delivered(status: Int) {
    for attempt in [1, 2, 3, 99] { #expect(verdict(status, attempt: attempt) == .delivered) }
  }

  /// A redirect is not followed: the address would be one that the publisher's file does not name.
  @Test(arguments: [100, 199, 300, 301, 302, 307, 308, 400, 401, 404, 408, 422, 429, 500, 502, 503, 599])
  func failed(status: Int) {
    #expect(verdict(status) == .again(.seconds(5), cause: "status \(status)"))
    #expect(verdict(status, attempt: 2) == .again(.seconds(300), cause: "status \(status)"))
    #expect(verdict(status, attempt: 3) == .abandoned("status \(status), after 3 attempts"))
  }

  @Test func gone() {
    #expect(verdict(410) == .abandoned("410 Gone"))
    #expect(verdict(410, retryAfter: 5, attempt: 2) == .abandoned("410 Gone"))
  }

  @Test(arguments: [429, 503]) func retryAfterOnlyLengthens(status: Int) {
    let cause = "status \(status)"
    #expect(verdict(status, retryAfter: 60) == .again(.seconds(60), cause: cause))
    #expect(verdict(status, retryAfter: 1) == .again(.seconds(5), cause: cause))
    #expect(verdict(status, retryAfter: 0) == .again(.seconds(5), cause: cause))
    #expect(verdict(status, retryAfter: -60) == .again(.seconds(5), cause: cause))
    #expect(verdict(status, retryAfter: .max) == .again(.seconds(86_400), cause: cause))
    #expect(verdict(status, retryAfter: 60, attempt: 3) == .abandoned("\(cause), after 3 attempts"))
  }

  @Test(arguments: [302, 404, 500]) func retryAfterOfOthersDoesNotCount(status: Int) {
    #expect(verdict(status, retryAfter: 60) == .again(.seconds(5), cause: "status \(status)"))
  }

  @Test func failureWithoutAnAnswer() {
    #expect(
      AttemptVerdict(failedWith: "timeout", attempt: 1, schedule: schedule) == .again(.seconds(5), cause: "timeout"))
    #expect(
      AttemptVerdict(failedWith: "timeout", attempt: 3, schedule: schedule) == .abandoned("timeout, after 3 attempts"))
    #expect(AttemptVerdict(failedWith: "timeout", attempt: 1, schedule: []) == .abandoned("timeout, after 1 attempts"))
  }
}
