import Domain
import HTTPServer
import Testing

@testable import Gateway

/// The bodies of requests for sandbox access by hand, and their answers.
struct SandboxOverrideRequestTests {
  private static let now: Int64 = 1_795_341_600_000
  private static let customer = CustomerKey(publisherId: 7, id: "42")

  private func read(_ body: String) throws(Problem) -> SandboxOverride {
    let request = HTTPServerRequest(
      method: "PUT", path: [], headers: [("Content-Type", "application/json")], body: Array(body.utf8))
    return try requestedSandboxOverride(request, customer: Self.customer, now: Self.now)
  }

  private func refusal(_ body: String) -> String? {
    do {
      _ = try read(body)
      return nil
    } catch {
      #expect(error.status == 400 && error.code == "REQ0001")
      return error.detail
    }
  }

  private static let rest = #""until":"2026-12-24T18:00:00Z","reason":"appReview""#

  @Test func `an override with and without a note`() throws {
    let end: Int64 = 1_798_135_200_000
    #expect(
      try read("{\(Self.rest)}")
        == SandboxOverride(customer: Self.customer, endsAt: end, reason: .appReview, setAt: Self.now))
    #expect(
      try read(#"{\#(Self.rest),"note":"Build 12"}"#)
        == SandboxOverride(
          customer: Self.customer, endsAt: end, reason: .appReview, note: "Build 12", setAt: Self.now))
  }

  @Test func `each mistake is named`() {
    #expect(refusal(#"{"reason":"support"}"#) == "until: is missing")
    #expect(refusal(#"{"until":"tomorrow","reason":"support"}"#)?.hasPrefix("until: expected") == true)
    #expect(refusal(#"{"until":"2026-12-24T18:00:00Z"}"#) == "reason: is missing")
    #expect(
      refusal(#"{"until":"2026-12-24T18:00:00Z","reason":"goodwill"}"#)
        == "reason: expected one of support, testing, appReview")
    #expect(refusal(#"{"offerId":"S1",\#(Self.rest)}"#)?.hasPrefix("offerId: is not known") == true)
    for (length, isRefused) in [(0, true), (1, false), (500, false), (501, true)] {
      let note = String(repeating: "é", count: length)
      #expect((refusal(#"{"note":"\#(note)",\#(Self.rest)}"#) != nil) == isRefused, "\(length)")
    }
    #expect(refusal(#"{"note":"a\u0000",\#(Self.rest)}"#) != nil)
  }

  @Test func `each refusal has its status and code`() {
    let codes: [(SandboxOverrideRefusal, Int, String)] = [
      (.alreadyOver, 400, "REQ0001"), (.tooLong, 400, "REQ0001"), (.tooMany, 409, "LIM0014"),
    ]
    for (refusal, status, code) in codes {
      let problem = Problem(refusal, SandboxOverrideLimits())
      #expect(problem.status == status && problem.code == code)
    }
    #expect(Problem(.tooLong, SandboxOverrideLimits()).detail?.contains("within 90 days") == true)
    #expect(Problem(.tooMany, SandboxOverrideLimits()).detail?.hasPrefix("100 customers") == true)
  }

  @Test func `an answer tells no person, and the state of the present`() {
    let override = SandboxOverride(
      customer: Self.customer, endsAt: 1_798_135_200_000, reason: .testing, note: "n", setBy: "operator:kim",
      setAt: Self.now)
    func text(_ override: SandboxOverride) -> String {
      String(decoding: SandboxOverrideAPI.document(override, now: Self.now), as: UTF8.self)
    }
    #expect(
      text(override) == """
        {"cleengCustomerId":42,"customerId":"42","note":"n","reason":"testing","setAt":"2026-11-22T10:00:00.000Z",\
        "state":"open","until":"2026-12-24T18:00:00.000Z"}
        """)
    var over = override
    over.endedAt = Self.now
    #expect(text(over).contains(#""endedAt":"2026-11-22T10:00:00.000Z","#) && text(over).contains(#""withdrawn""#))
  }
}
