import Domain
import Formats
import HTTPServer
import JSON
import Ledger
import Testing

@testable import Gateway

/// The bodies of requests for grants, and their answers.
struct GrantRequestTests {
  private static let now: Int64 = 1_795_341_600_000
  private static let id = GrantId("0b0c1d9e-52f0-4c4e-9f53-0a9c2d7f1e10")
  private static let customer = CustomerKey(publisherId: 7, id: "42")

  private func read(_ body: String) throws(Problem) -> Grant {
    let request = HTTPServerRequest(
      method: "POST", path: [], headers: [("Content-Type", "application/json")], body: Array(body.utf8))
    return try requestedGrant(request, customer: Self.customer, fresh: Self.id, now: Self.now)
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

  private static let rest = #""expiresAt":"2026-12-24T18:00:00Z","reason":"goodwill""#

  @Test func `a grant, and the id that the client chose`() throws {
    let given = try read(#"{"offerId":"S1",\#(Self.rest),"note":"Ticket 4711"}"#)
    #expect(
      given
        == Grant(
          id: Self.id, customer: Self.customer, offerId: "S1", reason: .goodwill, note: "Ticket 4711",
          createdAt: Self.now, endsAt: 1_798_135_200_000))
    let chosen = "5F1D0B6C-9e2a-4783-8d0c-1b7e6a9f4d21"
    #expect(
      try read(#"{"grantId":"\#(chosen)","offerId":"S1",\#(Self.rest)}"#).id == GrantId(chosen.lowercased()))
  }

  @Test func `each mistake is named`() {
    #expect(refusal("{\(Self.rest)}") == "offerId: is missing")
    #expect(refusal(#"{"offerId":"S1","reason":"promo"}"#) == "expiresAt: is missing")
    #expect(
      refusal(#"{"offerId":"S1","expiresAt":"tomorrow","reason":"promo"}"#)?.hasPrefix("expiresAt: expected") == true)
    #expect(refusal(#"{"offerId":"S1","expiresAt":"2026-12-24T18:00:00Z"}"#) == "reason: is missing")
    #expect(
      refusal(#"{"offerId":"S1","expiresAt":"2026-12-24T18:00:00Z","reason":"bribe"}"#)
        == "reason: expected one of support, goodwill, promo")
    #expect(refusal(#"{"grantId":"1","offerId":"S1",\#(Self.rest)}"#) == "grantId: expected a UUID with hyphens")
    #expect(refusal(#"{"offer":"S1",\#(Self.rest)}"#)?.hasPrefix("offer: is not known") == true)
    for (length, isRefused) in [(0, true), (1, false), (500, false), (501, true)] {
      let note = String(repeating: "é", count: length)
      #expect((refusal(#"{"offerId":"S1","note":"\#(note)",\#(Self.rest)}"#) != nil) == isRefused, "\(length)")
    }
    #expect(refusal(#"{"offerId":"S1","note":"a\u0000",\#(Self.rest)}"#) != nil)
  }

  @Test func `each refusal has its status and code`() {
    let limits = GrantLimits()
    func problem(_ refusal: GrantRefusal) -> Problem { Problem(refusal, limits, now: Self.now) }
    let codes: [(GrantRefusal, Int, String)] = [
      (.idInUse, 409, "REQ0409"), (.alreadyOver, 400, "REQ0001"), (.tooLong, 400, "REQ0001"),
      (.unknownOffer, 400, "REQ0001"), (.openOfCustomer, 409, "LIM0009"), (.perDay, 429, "LIM0010"),
    ]
    for (refusal, status, code) in codes {
      #expect(problem(refusal).status == status && problem(refusal).code == code)
    }
    // At 10:00 UTC.
    #expect(problem(.perDay).retryAfter == 14 * 3600 && problem(.openOfCustomer).retryAfter == nil)
  }

  @Test func `a cursor is read as it was written, and nothing else is`() {
    let place = Grants.Place(createdAt: 17, id: Self.id)
    #expect(Grants.Place(cursor: place.cursor) == place)
    #expect(Grants.Place(cursor: "0-00000000-0000-0000-0000-000000000000") != nil)
    for text in ["", "17", "17-", "-\(Self.id)", "17-\(Self.id.text.uppercased())", "x-\(Self.id)", "17-\(Self.id)0"] {
      #expect(Grants.Place(cursor: text) == nil, "\(text)")
    }
  }

  @Test func `a page ends before it is too long`() {
    let grants = (1...3).map { number in
      Grant(
        id: Self.id, customer: Self.customer, offerId: "S\(number)", reason: .promo, createdAt: Int64(number),
        endsAt: Self.now + 1)
    }
    func text(_ most: Int) -> String {
      String(decoding: GrantAPI.list(grants, of: "42", next: nil, now: Self.now, most: most), as: UTF8.self)
    }
    #expect(!text(10_000).contains("nextCursor") && text(10_000).contains(#""offerId":"S3""#))
    #expect(text(1).contains(#""nextCursor":"1-"#) && !text(1).contains(#""offerId":"S2""#))
  }
}
