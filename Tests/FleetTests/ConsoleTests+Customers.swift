import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import TestSupport
import Testing

/// What support does for a customer and for a purchase, at the console.
extension ConsoleTests {
  @Test func `support grants access by hand and withdraws it, and nobody else does`() async throws {
    try await withConsole { fleet in
      // A console has no broker: the look at the outbox is the way of its events, and no repair.
      fleet.sweptWays = [.outbox]
      let (path, tomorrow) = ("/customers/1001/7/grants", Date(timeIntervalSinceNow: 86_400).ISO8601Format().prefix(10))
      let wish = [
        (name: "offerId", value: "S2"), (name: "until", value: String(tomorrow)), (name: "reason", value: "goodwill"),
        (name: "note", value: "Ticket 4711"),
      ]
      let confirm = [(name: "step", value: "confirm"), (name: "grantId", value: UUID().uuidString.lowercased())]
      let (viewer, other) = (try await signIn(fleet, "vic"), try await signIn(fleet, "other"))
      #expect(try await Form(fleet: fleet, browser: viewer).post(path, wish + confirm).status == 403)
      #expect(try await Form(fleet: fleet, browser: other).post(path, wish + confirm).status == 404)
      let nobody = Form(fleet: fleet, browser: Browser(fleet: fleet, cookie: ""))
      #expect(try await nobody.post(path, wish + confirm).location == "/sign-in?next=%2Fcustomers%2F1001%2F7")

      let support = try await signIn(fleet, "ada")
      let form = Form(fleet: fleet, browser: support)
      #expect(try await form.post(path, wish + confirm, [("Origin", "http://evil.example")]).status == 403)
      #expect(try await support.get(path).status == 405)
      #expect(try await fleet.texts("SELECT id AS text FROM grants") == [])
      // A preview changes nothing.
      let preview = try await form.post(path, wish + [(name: "step", value: "preview")])
      #expect(preview.status == 200 && preview.text.contains("Grant access?"), "\(preview.text)")
      #expect(try await fleet.texts("SELECT id AS text FROM grants") == [])
      let id = try hidden("grantId", preview.text)
      let sure = wish + [(name: "step", value: "confirm"), (name: "grantId", value: id)]
      // A form that is sent twice gives one grant.
      for _ in 1...2 {
        let given = try await form.post(path, sure)
        #expect(given.status == 303 && given.location == "/customers/1001/7", "\(given.text)")
      }
      #expect(try await fleet.texts("SELECT id AS text FROM grants") == [id])
      #expect(try await support.get("/customers/1001/7").text.contains("Ticket 4711"))
      // A refused form keeps the page, with what was filled in.
      let changed = wish.map { $0.name == "note" ? (name: $0.name, value: "another note") : $0 }
      let refused = try await form.post(
        path, changed + [(name: "step", value: "confirm"), (name: "grantId", value: id)])
      #expect(refused.status == 409 && refused.text.contains("Not done") && refused.text.contains("another note"))
      let late = try await form.post(path, wish.map { $0.name == "until" ? (name: $0.name, value: "2020-01-01") : $0 })
      #expect(late.status == 400 && late.text.contains("The last day has passed."))
      #expect(late.text.contains("role=\"alert\"") && late.text.contains("value=\"2020-01-01\""))
      #expect(late.text.contains("Ticket 4711") && late.text.contains("Timeline"))

      let withdrawal = path + "/\(id)/withdraw"
      #expect(try await Form(fleet: fleet, browser: viewer).post(withdrawal, [confirm[0]]).status == 403)
      #expect(try await Form(fleet: fleet, browser: other).post(withdrawal, [confirm[0]]).status == 404)
      let asked = try await form.post(withdrawal, [(name: "step", value: "preview")])
      #expect(asked.status == 200 && asked.text.contains("Withdraw the grant?"), "\(asked.text)")
      #expect(try await form.post(withdrawal, [confirm[0]]).status == 303)
      // Somebody whose first answer was lost sends the form again. Nothing happens twice.
      #expect(try await form.post(withdrawal, [confirm[0]]).status == 303)
      let over = try await form.post(withdrawal, [(name: "step", value: "preview")])
      #expect(over.status == 409 && over.text.contains("has already ended"))
      let entries = try await fleet.texts(
        "SELECT concat_ws(' ', action, actor, publisher_id, subject) AS text FROM audit "
          + "WHERE action LIKE 'customer.grant%' ORDER BY id")
      #expect(
        entries == ["customer.granted operator:ada 1001 7", "customer.grantWithdrawn operator:ada 1001 7"])
      // The console has no broker: a worker tells both changes.
      try await eventually("a worker publishes what the console told") {
        try await fleet.texts("SELECT event_id AS text FROM outbox") == []
      }
    }
  }

  @Test func `support gives sandbox access until a date, once, and withdraws it`() async throws {
    try await withConsole { fleet in
      // A console has no broker: the look at the outbox is the way of its events, and no repair.
      fleet.sweptWays = [.outbox]
      let tomorrow = Date(timeIntervalSinceNow: 86_400).ISO8601Format().prefix(10)
      let path = "/customers/1001/7/sandbox"
      let wish = [
        (name: "until", value: String(tomorrow)), (name: "reason", value: "testing"),
        (name: "note", value: "Ticket 4711"),
      ]
      let (asks, confirm) = ([(name: "step", value: "preview")], [(name: "step", value: "confirm")])
      let (viewer, other) = (try await signIn(fleet, "vic"), try await signIn(fleet, "other"))
      for address in [path, path + "/withdraw"] {
        #expect(try await Form(fleet: fleet, browser: viewer).post(address, wish + confirm).status == 403)
        #expect(try await Form(fleet: fleet, browser: other).post(address, wish + confirm).status == 404)
      }
      let support = try await signIn(fleet, "ada")
      let form = Form(fleet: fleet, browser: support)
      #expect(try await form.post(path + "/withdraw", asks).status == 409)
      let preview = try await form.post(path, wish + asks)
      #expect(preview.status == 200 && preview.text.contains("Give sandbox access?"), "\(preview.text)")
      #expect(try await fleet.texts("SELECT set_by AS text FROM sandbox_access") == [])
      for _ in 1...2 {
        let given = try await form.post(path, wish + confirm)
        #expect(given.status == 303 && given.location == "/customers/1001/7", "\(given.text)")
      }
      #expect(try await fleet.texts("SELECT set_by AS text FROM sandbox_access") == ["operator:ada"])
      #expect(try await support.get("/customers/1001/7").text.contains("Ticket 4711"))
      let late = try await form.post(path, wish.map { $0.name == "until" ? (name: $0.name, value: "2020-01-01") : $0 })
      #expect(late.status == 400 && late.text.contains("The last day has passed."))
      #expect(late.text.contains("role=\"alert\"") && late.text.contains("value=\"2020-01-01\""))
      #expect(late.text.contains("Timeline"))
      let asked = try await form.post(path + "/withdraw", asks)
      #expect(asked.status == 200 && asked.text.contains("Withdraw the sandbox access?"), "\(asked.text)")
      for _ in 1...2 { #expect(try await form.post(path + "/withdraw", confirm).status == 303) }
      #expect(try await form.post(path + "/withdraw", asks).status == 409)
      let entries = try await fleet.texts(
        "SELECT concat_ws(' ', action, actor, publisher_id, subject) AS text FROM audit "
          + "WHERE action LIKE 'customer.sandbox%' ORDER BY id")
      #expect(
        entries == [
          "customer.sandboxAccessSet operator:ada 1001 7", "customer.sandboxAccessWithdrawn operator:ada 1001 7",
        ])
    }
  }

  @Test func `support gives a purchase to another customer`() async throws {
    try await withConsole { fleet in
      // A console has no broker: the look at the outbox is the way of its events, and no repair.
      fleet.sweptWays = [.outbox]
      let support = try await signIn(fleet, "ada")
      let purchase = try #require(try await support.get("/find?q=1000000000001").location)
      let ada = Form(fleet: fleet, browser: support)
      let transfer = purchase + "/transfer"
      let (preview, confirm) = ([(name: "step", value: "preview")], [(name: "step", value: "confirm")])
      #expect(try await fleet.putCustomer(8).status == 201)
      let strangers = [(try await signIn(fleet, "vic"), 403), (try await signIn(fleet, "other"), 404)]
      for (stranger, status) in strangers {
        let form = Form(fleet: fleet, browser: stranger)
        #expect(try await form.post(transfer, confirm + [(name: "to", value: "8")]).status == status)
      }
      let question = try await ada.post(transfer, preview)
      #expect(question.status == 200 && question.text.contains("The id of the customer who gets it"))
      let wrong = try await ada.post(transfer, preview + [(name: "to", value: "nobody-has-it")])
      #expect(wrong.status == 404 && wrong.text.contains("no customer with this id"), "\(wrong.text)")
      #expect(wrong.text.contains("role=\"alert\"") && wrong.text.contains("value=\"nobody-has-it\""))
      let own = try await ada.post(transfer, preview + [(name: "to", value: "7")])
      #expect(own.status == 409 && own.text.contains("owns the purchase already"))
      let asked = try await ada.post(transfer, preview + [(name: "to", value: "8")])
      #expect(asked.status == 200 && asked.text.contains("Transfer the purchase?"), "\(asked.text)")
      #expect(asked.text.contains("Whose access changes"))
      #expect(try await support.get("/customers/1001/7").text.contains("Has access"))
      var fields = confirm + [(name: "to", value: "8")]
      for name in ["id", "transactionId", "seen"] { fields.append((name: name, value: try hidden(name, asked.text))) }
      let stale = try await ada.post(transfer, fields + [(name: "subscriptionId", value: "999999")])
      #expect(stale.status == 409 && stale.text.contains("changed its owner meanwhile"), "\(stale.text)")
      fields.append((name: "subscriptionId", value: try hidden("subscriptionId", asked.text)))
      // A form that is sent twice moves the purchase once.
      for _ in 1...2 { #expect(try await ada.post(transfer, fields).location == purchase) }
      #expect(try await support.get("/customers/1001/8").text.contains("Has access"))
      #expect(try await !support.get("/customers/1001/7").text.contains("Has access"))
      try await eventually("a worker publishes what the console told") {
        try await fleet.texts("SELECT event_id AS text FROM outbox") == []
      }
      let entries = try await fleet.texts(
        "SELECT concat_ws(' ', action, actor) AS text FROM audit "
          + "WHERE action = 'purchase.transferred' ORDER BY id")
      #expect(entries == ["purchase.transferred operator:ada"])
    }
  }

  @Test func `support writes a note about a customer, and a viewer sees none`() async throws {
    try await withConsole { fleet in
      let support = try await signIn(fleet, "ada")
      let ada = Form(fleet: fleet, browser: support)
      let path = "/customers/1001/7/notes"
      let (preview, confirm) = ([(name: "step", value: "preview")], [(name: "step", value: "confirm")])
      let text = [(name: "text", value: "called twice\r\nabout <u>Friday</u>")]
      for (stranger, status) in [(try await signIn(fleet, "vic"), 403), (try await signIn(fleet, "other"), 404)] {
        #expect(try await Form(fleet: fleet, browser: stranger).post(path, text + confirm).status == status)
      }
      let empty = try await ada.post(path, [(name: "text", value: " ")] + preview)
      #expect(empty.status == 400 && empty.text.contains("Write the note first."), "\(empty.text)")
      let long = try await ada.post(path, [(name: "text", value: String(repeating: "😀", count: 2001))] + preview)
      #expect(long.status == 400 && long.text.contains("2000 characters"), "\(long.status)")
      #expect(long.text.contains("role=\"alert\"") && long.text.contains("😀😀</textarea>"))
      #expect(long.text.contains("Timeline") && !long.text.contains("<script"))
      let asked = try await ada.post(path, text + preview)
      #expect(asked.status == 200 && asked.text.contains("Keep the note?"), "\(asked.text)")
      #expect(try await fleet.texts("SELECT text FROM customer_notes") == [])
      let id = [(name: "noteId", value: try hidden("noteId", asked.text))]
      // A form that is sent twice keeps one note.
      for _ in 1...2 { #expect(try await ada.post(path, text + id + confirm).location == "/customers/1001/7") }
      #expect(try await fleet.texts("SELECT text FROM customer_notes") == ["called twice\nabout <u>Friday</u>"])
      let page = try await support.get("/customers/1001/7")
      #expect(page.text.contains("about &lt;u&gt;Friday&lt;/u&gt;") && page.text.contains("<code>ada</code>"))
      #expect(try await ada.post("/customers/1001/7/export", confirm).text.contains("called twice"))
      #expect(try await ada.post("/customers/1001/nobody/notes", text + preview).status == 404)
      let entries = try await fleet.texts(
        "SELECT concat_ws(' ', action, actor, subject) AS text FROM audit WHERE action = 'customer.noted'")
      #expect(entries == ["customer.noted operator:ada 7"])
    }
  }

  @Test func `support releases a purchase, and an operator erases its customer`() async throws {
    try await withConsole { fleet in
      // A console has no broker: the look at the outbox is the way of its events, and no repair.
      fleet.sweptWays = [.outbox]
      let support = try await signIn(fleet, "ada")
      let purchase = try #require(try await support.get("/find?q=1000000000001").location)
      let (ada, operators) = (
        Form(fleet: fleet, browser: support), Form(fleet: fleet, browser: try await signIn(fleet, "op"))
      )
      let strangers = [try await signIn(fleet, "vic"), try await signIn(fleet, "other")]
      let (release, export) = (purchase + "/release", "/customers/1001/7/export")
      let (erase, preview, confirm) = (
        "/customers/1001/7/erase", [(name: "step", value: "preview")], [(name: "step", value: "confirm")]
      )
      for (stranger, status) in zip(strangers, [403, 404]) {
        for path in [release, export, erase] {
          #expect(try await Form(fleet: fleet, browser: stranger).post(path, confirm).status == status, "\(path)")
        }
      }
      #expect(try await ada.post(export, [], []).status == 403)
      let asking = try await ada.post(export, preview)
      #expect(asking.status == 200 && asking.text.contains("Export the customer?"), "\(asking.text)")
      #expect(try await fleet.texts("SELECT action AS text FROM audit WHERE action = 'customer.exported'") == [])
      let document = try await ada.post(export, confirm)
      #expect(document.status == 200 && document.text.contains("\"customerId\":\"7\""), "\(document.text)")

      let asked = try await ada.post(release, preview)
      #expect(asked.status == 200 && asked.text.contains("Release the purchase?"), "\(asked.text)")
      let period = (name: "subscriptionId", value: try hidden("subscriptionId", asked.text))
      // Another period of ownership than the one that the person saw is not ended.
      let stale = try await ada.post(release, confirm + [(name: "subscriptionId", value: "999999")])
      #expect(stale.status == 409 && stale.text.contains("Somebody else owns"), "\(stale.text)")
      #expect(try await ada.post(release, confirm + [period]).location == purchase)
      let free = try await ada.post(release, confirm + [period])
      #expect(free.status == 409 && free.text.contains("role=\"alert\"") && free.text.contains("Signed data"))
      // A viewer reads the reason on the page of a purchase, and elsewhere without the page.
      let viewer = Form(fleet: fleet, browser: strangers[0])
      let (seen, unseen) = (try await viewer.post(release, confirm), try await viewer.post(export, confirm))
      #expect(seen.status == 403 && seen.text.contains("A viewer changes nothing.") && seen.text.contains("Owners"))
      #expect(unseen.status == 403 && unseen.text.contains("A viewer changes nothing."), "\(unseen.text)")
      #expect(!unseen.text.contains("Timeline"))
      #expect(try await !support.get("/customers/1001/7").text.contains("Has access"))

      #expect(try await ada.post(erase, confirm + [(name: "customerId", value: "7")]).status == 403)
      #expect(try await operators.post(erase, preview).text.contains("Erase the customer?"))
      let wrong = try await operators.post(erase, confirm + [(name: "customerId", value: "8")])
      #expect(wrong.status == 400 && wrong.text.contains("another id than the page"), "\(wrong.text)")
      #expect(wrong.text.contains("role=\"alert\"") && wrong.text.contains("value=\"8\""))
      let erased = try await operators.post(erase, confirm + [(name: "customerId", value: "7")])
      #expect(erased.status == 200 && erased.text.contains("The customer is erased."), "\(erased.text)")
      let again = try await operators.post(erase, confirm + [(name: "customerId", value: "7")])
      #expect(again.status == 200 && again.text.contains("Nothing is kept"), "\(again.text)")
      #expect(try await operators.post(erase, preview).status == 404)
      let entries = try await fleet.texts(
        "SELECT concat_ws(' ', action, actor) AS text FROM audit "
          + "WHERE action IN ('customer.exported', 'purchase.released', 'customer.erased') ORDER BY id")
      let places = try await fleet.texts(
        "SELECT convert_from(detail, 'UTF8') AS text FROM audit "
          + "WHERE action IN ('customer.exported', 'purchase.released', 'customer.erased') ORDER BY id")
      #expect(places.count == entries.count)
      #expect(places.allSatisfy { $0.contains(#""address":"127.0.0.1"}"#) }, "\(places)")
      #expect(
        entries == ["customer.exported operator:ada", "purchase.released operator:ada", "customer.erased operator:op"])
      try await eventually("a worker publishes what the console told") {
        try await fleet.texts("SELECT event_id AS text FROM outbox") == []
      }
    }
  }
}
