import Fleets
import Formats
import HTTP
import Testing

/// A name that somebody has at the provider, and that is markup.
extension ConsoleOpenIDTests {
  @Test func `a name of the provider's is text on the page of who is refused`() async throws {
    try await withProvider { fleet, _ in
      let (stranger, name) = (Browser(fleet), "<script>alert(1)</script>\"'&@example.com")
      let next = "/c/\(Markup.ascii("next"))"
      let start = try await stranger.get("/c/sign-in?next=\(PercentCoding.encoded(next))")
      #expect(start.status == 200 && ShownPage(start.text).faults == [], "\(start.text)")
      let back = try await stranger.consent(try await stranger.begin(next), as: "markup")
      let refused = try await stranger.get(back)
      #expect(refused.status == 403 && ShownPage(refused.text).faults == [], "\(refused.text)")
      #expect(refused.text.contains("You are \(Markup.shown(name)) at the provider"), "\(refused.text)")
    }
  }
}
