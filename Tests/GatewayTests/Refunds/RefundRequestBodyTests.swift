import Domain
import HTTPServer
import Ledger
import Testing

@testable import Gateway

/// Consents, answers and pages in requests.
struct RefundRequestBodyTests {
  private func request(_ body: String, type: String = "application/json") -> HTTPServerRequest {
    HTTPServerRequest(method: "PUT", path: [], headers: [("Content-Type", type)], body: Array(body.utf8))
  }

  private func problem<Value>(_ read: (HTTPServerRequest) throws(Problem) -> Value, _ body: String) -> Problem? {
    do {
      _ = try read(request(body))
      return nil
    } catch {
      return error
    }
  }

  // MARK: Consents

  /// 2026-11-23T09:00:00Z, an hour later.
  private static let now: Int64 = 1_795_428_000_000

  private func consent(_ request: HTTPServerRequest) throws(Problem) -> Consent {
    try requestedConsent(request, now: Self.now)
  }

  @Test func `a decision is taken`() throws {
    let body = #"{"consented":true,"textVersion":"2026-01","time":"2026-11-23T10:00:00+01:00"}"#
    #expect(
      try consent(request(body))
        == Consent(isGiven: true, textVersion: "2026-01", time: 1_795_424_400_000))
    let refusal = #"{"consented":false,"textVersion":"ü","time":"2026-11-23T09:00:00.5Z"}"#
    #expect(try consent(request(refusal)).isGiven == false)
  }

  @Test(arguments: [
    (#"{"textVersion":"1","time":"2026-11-23T09:00:00Z"}"#, "consented: is missing"),
    (#"{"consented":1,"textVersion":"1","time":"2026-11-23T09:00:00Z"}"#, "consented: expected true or false"),
    (#"{"consented":true,"time":"2026-11-23T09:00:00Z"}"#, "textVersion: is missing"),
    (#"{"consented":true,"textVersion":"","time":"2026-11-23T09:00:00Z"}"#, "textVersion: expected 1 to 128"),
    (#"{"consented":true,"textVersion":"a\u0000","time":"2026-11-23T09:00:00Z"}"#, "textVersion: expected 1 to 128"),
    (#"{"consented":true,"textVersion":"1"}"#, "time: is missing"),
    (#"{"consented":true,"textVersion":"1","time":"yesterday"}"#, "time: expected a time after RFC 3339"),
    (#"{"consented":true,"textVersion":"1","time":"2026-11-23T09:00:00Z","x":1}"#, "x: is not known"),
    ("[]", "expected a JSON object"),
  ])
  func `a wrong decision is refused`(body: String, detail: String) {
    let problem = problem(consent, body)
    #expect(problem?.code == "REQ0001" && problem?.detail?.hasPrefix(detail) == true, "\(String(describing: problem))")
  }

  @Test func `a decision in the future is refused, and a clock that is a little ahead is not`() throws {
    func body(_ time: String) -> String { "{\"consented\":true,\"textVersion\":\"1\",\"time\":\"\(time)\"}" }
    #expect(try consent(request(body("2026-11-23T10:05:00Z"))).time == Self.now)
    let problem = problem(consent, body("2026-11-23T10:05:00.001Z"))
    #expect(problem?.code == "REQ0409" && problem?.detail?.hasPrefix("The time lies in the future.") == true)
  }

  @Test func `a long version of a text is refused`() {
    for (length, isTaken) in [(128, true), (129, false)] {
      let version = String(repeating: "ü", count: length)
      let body = "{\"consented\":true,\"textVersion\":\"\(version)\",\"time\":\"2026-11-23T09:00:00Z\"}"
      #expect((problem(consent, body) == nil) == isTaken)
    }
  }

  // MARK: Answers

  @Test func `an answer is taken`() throws {
    let body = """
      {"customerConsented":true,"deliveryStatus":"DELIVERED","consumptionPercentage":25000,
       "refundPreference":"GRANT_PRORATED","sampleContentProvided":false}
      """
    #expect(
      try requestedWish(request(body))
        == .send(
          ConsumptionAnswer(.delivered, percentage: 25_000, preference: .grantProrated, isSampleProvided: false)))
    let least = #"{"customerConsented":true,"deliveryStatus":"UNDELIVERED_OTHER","sampleContentProvided":true}"#
    #expect(try requestedWish(request(least)) == .send(ConsumptionAnswer(.other, isSampleProvided: true)))
    #expect(try requestedWish(request(#"{"answer":"none"}"#)) == .withhold)
  }

  @Test(arguments: [
    (#"{"deliveryStatus":"DELIVERED","sampleContentProvided":true}"#, "customerConsented: expected true"),
    (
      #"{"customerConsented":false,"deliveryStatus":"DELIVERED","sampleContentProvided":true}"#,
      "customerConsented: expected true"
    ),
    (#"{"customerConsented":true,"deliveryStatus":"DELIVERED"}"#, "sampleContentProvided: is missing"),
    (#"{"customerConsented":true,"sampleContentProvided":true}"#, "deliveryStatus: is missing"),
    (
      #"{"customerConsented":true,"sampleContentProvided":true,"deliveryStatus":"LOST"}"#,
      "deliveryStatus: expected one of DELIVERED"
    ),
    (
      #"{"customerConsented":true,"sampleContentProvided":true,"deliveryStatus":"DELIVERED","refundPreference":"NO"}"#,
      "refundPreference: expected one of DECLINE"
    ),
    (
      #"{"customerConsented":true,"sampleContentProvided":true,"deliveryStatus":"DELIVERED","consumptionPercentage":100001}"#,
      "consumptionPercentage: expected a whole number from 0 to 100000"
    ),
    (#"{"customerConsented":true,"platform":1}"#, "platform: is not known; expected consumptionPercentage"),
    (#"{"answer":"yes"}"#, "answer: expected one of none"), (#"{"answer":null}"#, "answer: expected one of none"),
    (#"{"answer":"none","customerConsented":true}"#, "customerConsented: is not known; expected answer"),
    ("{}", "customerConsented: expected true"), ("7", "expected a JSON object"),
  ])
  func `a wrong answer is refused`(body: String, detail: String) {
    let problem = problem(requestedWish, body)
    #expect(problem?.code == "REQ0001" && problem?.detail?.hasPrefix(detail) == true, "\(String(describing: problem))")
  }

  @Test func `why an answer cannot be taken is told`() {
    let refusals: [RefundRequest.Refusal] = [.isSending, .isAnswered, .isDecided, .isLate]
    #expect(refusals.allSatisfy { Problem($0).status == 409 })
    #expect(Set(refusals.map { Problem($0).detail }).count == refusals.count)
    let defects: [ConsumptionAnswer.Defect] = [
      .percentageOfSubscription, .percentageOfUndelivered, .proratedWithoutPercentage,
    ]
    #expect(defects.allSatisfy { Problem($0).status == 400 })
    #expect(Set(defects.map { Problem($0).detail }).count == defects.count)
  }

  // MARK: Pages

  @Test func `a cursor is one of ours`() {
    let id: RefundRequestId = "rfr_0123456789abcdef0123456789abcdef"
    let place = RefundAnswers.Place(deadline: 1_795_467_600_000, id: id)
    #expect(place.cursor == "1795467600000-\(id)")
    #expect(RefundAnswers.Place(cursor: place.cursor) == place)
    for text in ["", "1", "1-", "-\(id)", "x-\(id)", "1-\(id)0", "1234567890123456-\(id)"] {
      #expect(RefundAnswers.Place(cursor: text) == nil)
    }
  }
}
