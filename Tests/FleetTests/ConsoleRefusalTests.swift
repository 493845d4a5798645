import EventLoop
import Fleets
import HTTP
import ServerSupport
import TestSupport
import Testing

/// A refused action keeps the page that has the form, with what the person has filled in.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct ConsoleRefusalTests {
  private typealias Fields = [(name: String, value: String)]
  private static let (preview, confirm): (Fields, Fields) = (
    [(name: "step", value: "preview")], [(name: "step", value: "confirm")]
  )

  /// Posts a form, and looks whether the answer is the page with the reason.
  private func refused(
    _ form: ConsoleTests.Form, _ path: String, _ fields: Fields, _ status: Int, _ words: String...
  ) async throws {
    let answer = try await form.post(path, fields)
    #expect(answer.status == status, "\(path): \(answer.text)")
    for words in ["role=\"alert\""] + words {
      #expect(answer.text.contains(words), "\(path): \(words): \(answer.text)")
    }
    // The answer to a form has no address, so no script reads it again.
    #expect(!answer.text.contains("<script"), "\(path)")
  }

  @Test func `a customer's page comes back with what was filled in`() async throws {
    let console = ConsoleTests()
    try await console.withConsole { fleet in
      let ada = ConsoleTests.Form(fleet: fleet, browser: try await console.signIn(fleet, "ada"))
      let customer = "/customers/1001/7"
      let wish: Fields = [
        (name: "offerId", value: "S2"), (name: "until", value: "2020-01-01"), (name: "reason", value: "goodwill"),
        (name: "note", value: "Ticket <4711>"),
      ]
      for step in [Self.preview, Self.confirm] {
        try await refused(
          ada, customer + "/grants", wish + step + [(name: "grantId", value: "0b0c1d9e-52f0-4c4e-9f53-0a9c2d7f1e10")],
          400, "The last day has passed.", "value=\"2020-01-01\"", "value=\"Ticket &lt;4711&gt;\"", "Timeline",
          "<option value=\"goodwill\" selected=\"selected\">", "Has access")
      }
      var other = wish
      (other[0].value, other[1].value) = ("no-offer", "2999-01-01")
      try await refused(
        ada, customer + "/grants", other + Self.preview, 400, "no longer has this offer", "2999-01-01", "Timeline")
      let sandbox: Fields = [
        (name: "until", value: "2020-01-02"), (name: "reason", value: "testing"), (name: "note", value: "tester"),
      ]
      try await refused(
        ada, customer + "/sandbox", sandbox + Self.preview, 400, "The last day has passed.", "value=\"2020-01-02\"",
        "value=\"tester\"", "Timeline")
      try await refused(ada, customer + "/sandbox/withdraw", Self.preview, 409, "has already ended", "Timeline")
      try await refused(
        ada, customer + "/grants/0b0c1d9e-52f0-4c4e-9f53-0a9c2d7f1e10/withdraw", Self.preview, 409, "has already ended",
        "Timeline")
      let note = String(repeating: "😀", count: 2001)
      try await refused(
        ada, customer + "/notes", [(name: "text", value: note)] + Self.preview, 400, "2000 characters",
        "😀😀</textarea>", "Timeline")
      #expect(try await fleet.texts("SELECT id AS text FROM grants") == [])

      // Only an operator erases, and must type the id. Nobody sees a page that is not for him.
      try await refused(ada, customer + "/erase", Self.preview, 403, "Ask somebody with the role operator", "Timeline")
      let op = ConsoleTests.Form(fleet: fleet, browser: try await console.signIn(fleet, "op"))
      try await refused(
        op, customer + "/erase", [(name: "customerId", value: "8")] + Self.confirm, 400, "another id than the page",
        "value=\"8\"")
      let viewer = ConsoleTests.Form(fleet: fleet, browser: try await console.signIn(fleet, "vic"))
      let hidden = try await viewer.post(customer + "/export", Self.preview)
      #expect(hidden.status == 403 && hidden.text.contains("A viewer changes nothing."), "\(hidden.text)")
      #expect(!hidden.text.contains("Timeline") && hidden.text.contains("Back to the page"))
      let stranger = ConsoleTests.Form(fleet: fleet, browser: try await console.signIn(fleet, "other"))
      let nothing = try await stranger.post(customer + "/notes", [(name: "text", value: "x")] + Self.preview)
      #expect(nothing.status == 404 && !nothing.text.contains("Timeline"))
    }
  }

  @Test func `a purchase's page and the lists come back with the reason`() async throws {
    let console = ConsoleTests()
    try await console.withConsole { fleet in
      let support = try await console.signIn(fleet, "ada")
      let ada = ConsoleTests.Form(fleet: fleet, browser: support)
      let purchase = try #require(try await support.get("/find?q=1000000000001").location)
      try await refused(
        ada, purchase + "/transfer", [(name: "to", value: "nobody-has-it")] + Self.preview, 404,
        "no customer with this id", "value=\"nobody-has-it\"")
      // A body that no browser makes.
      try await refused(
        ada, purchase + "/transfer", [(name: "to", value: "7"), (name: "id", value: "x")] + Self.confirm, 400,
        "The form cannot be read.", "Signed data")
      let asked = try await ada.post(purchase + "/release", Self.preview)
      let period: Fields = [(name: "subscriptionId", value: try console.hidden("subscriptionId", asked.text))]
      #expect(try await ada.post(purchase + "/release", Self.confirm + period).status == 303)
      try await refused(ada, purchase + "/release", Self.confirm + period, 409, "nothing to release", "Signed data")
      let viewer = ConsoleTests.Form(fleet: fleet, browser: try await console.signIn(fleet, "vic"))
      try await refused(viewer, purchase + "/release", Self.confirm, 403, "A viewer changes nothing.", "Owners")

      try await refused(
        ada, "/synchronizations/retry", [(name: "cause", value: "tls"), (name: "publisher", value: "1001")], 409,
        "None waits for this reason", "<option value=\"tls\" selected=\"selected\">", "<h1>Synchronizations</h1>")
      try await refused(
        ada, "/dead/retry", [(name: "kind", value: "notifications")] + Self.preview, 409, "Nothing is left here.",
        "<option value=\"notifications\" selected=\"selected\">", "<h1>Given up</h1>")
      try await refused(
        ada, "/dead/drop", [(name: "kind", value: "notifications")] + Self.preview, 403, "only an operator",
        "<h1>Given up</h1>")
      try await refused(
        ada, "/notifications/test", [(name: "publisher", value: "1001")] + Self.preview, 400, "cannot be read",
        "<h1>Notifications</h1>")
    }
  }
}
