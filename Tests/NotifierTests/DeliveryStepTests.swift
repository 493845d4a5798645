import Domain
import Testing

@testable import Notifier

/// The next step after an endpoint's answer.
struct DeliveryStepTests {
  private let schedule: [Duration] = [.seconds(5), .seconds(300)]

  private func step(_ status: Int, retryAfter: Duration? = nil, attempt: Int = 1, jitter: Double = 1)
    -> DeliveryStep
  {
    DeliveryStep(status: status, retryAfter: retryAfter, attempt: attempt, schedule: schedule, jitter: jitter)
  }

  @Test(arguments: [200, 201, 202, 204, 299]) func delivered(status: Int) {
    for attempt in [1, 2, 3, 99] { #expect(step(status, attempt: attempt) == .delivered) }
  }

  /// The notifier does not follow a redirect: the publisher's file does not name that address.
  @Test(arguments: [100, 199, 300, 301, 302, 307, 308, 400, 401, 404, 408, 422, 429, 500, 502, 503, 599])
  func failed(status: Int) {
    #expect(step(status) == .again(.seconds(5), cause: "status \(status)"))
    #expect(step(status, attempt: 2) == .again(.seconds(300), cause: "status \(status)"))
    #expect(step(status, attempt: 3) == .abandoned("status \(status), after 3 attempts"))
  }

  @Test func gone() {
    #expect(step(410) == .gone)
    #expect(step(410, retryAfter: .seconds(5), attempt: 2) == .gone)
  }

  @Test(arguments: [429, 503]) func retryAfterOnlyLengthens(status: Int) {
    let cause = "status \(status)"
    #expect(step(status, retryAfter: .seconds(60)) == .again(.seconds(60), cause: cause))
    #expect(step(status, retryAfter: .seconds(1)) == .again(.seconds(5), cause: cause))
    #expect(step(status, retryAfter: .zero) == .again(.seconds(5), cause: cause))
    #expect(step(status, retryAfter: .seconds(999_999)) == .again(.seconds(86_400), cause: cause))
    #expect(step(status, retryAfter: .seconds(60), attempt: 3) == .abandoned("\(cause), after 3 attempts"))
    // Jitter never makes the attempt earlier than the endpoint asked.
    #expect(step(status, retryAfter: .seconds(60), jitter: 0.8) == .again(.seconds(60), cause: cause))
  }

  @Test func jitterMovesTheSchedule() {
    #expect(step(500, jitter: 0.8) == .again(.seconds(4), cause: "status 500"))
    #expect(step(500, jitter: 1.2) == .again(.seconds(6), cause: "status 500"))
    #expect(step(500, attempt: 2, jitter: 1.1) == .again(.seconds(330), cause: "status 500"))
  }

  @Test func scheduleOfTheEndpoint() {
    #expect(WebhookEndpoint.Retry.standard.schedule(standard: schedule) == schedule)
    #expect(WebhookEndpoint.Retry.never.schedule(standard: schedule).isEmpty)
    #expect(WebhookEndpoint.Retry.schedule([.seconds(1)]).schedule(standard: schedule) == [.seconds(1)])
  }

  @Test func whatTheLogSays() {
    #expect(step(200).result == .delivered)
    #expect(step(200).error == nil)
    #expect(step(500).result == .failed)
    #expect(step(500).error == "status 500")
    #expect(step(500, attempt: 3).result == .abandoned)
    #expect(step(410).result == .abandoned)
    #expect(step(410).error == "410 Gone")
  }

  @Test(arguments: [302, 404, 500]) func retryAfterOfOthersDoesNotCount(status: Int) {
    #expect(step(status, retryAfter: .seconds(60)) == .again(.seconds(5), cause: "status \(status)"))
  }

  @Test func failureWithoutAnAnswer() {
    func step(_ attempt: Int, _ schedule: [Duration]) -> DeliveryStep {
      DeliveryStep(failedWith: "timeout", attempt: attempt, schedule: schedule, jitter: 1)
    }
    #expect(step(1, schedule) == .again(.seconds(5), cause: "timeout"))
    #expect(step(3, schedule) == .abandoned("timeout, after 3 attempts"))
    #expect(step(1, []) == .abandoned("timeout, after 1 attempt"))
  }
}

/// The header `Retry-After`.
struct RetryAfterTests {
  private let now: Int64 = 784_111_777_000  // the date in the examples of RFC 9110

  @Test(arguments: [
    ("0", 0), ("120", 120), ("86400", 86_400), ("86401", 86_400), ("99999999999999999999999", 86_400),
    ("Sun, 06 Nov 1994 08:49:37 GMT", 0), ("Sun, 06 Nov 1994 08:50:37 GMT", 60),
    ("Sunday, 06-Nov-94 08:50:37 GMT", 60), ("Sun Nov  6 08:50:37 1994", 60), ("Sun, 06 Nov 1993 08:49:37 GMT", 0),
    ("Tue, 06 Nov 2094 08:49:37 GMT", 86_400),
  ])
  func wait(text: String, seconds: Int) {
    #expect(EndpointRetryAfter.wait(text, now: now) == .seconds(seconds))
  }

  @Test(arguments: [
    "", "-5", "1.5", "soon", "1 2", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 25:49:37 GMT",
    "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Abc 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET",
  ])
  func neither(text: String) {
    #expect(EndpointRetryAfter.wait(text, now: now) == nil)
  }
}
