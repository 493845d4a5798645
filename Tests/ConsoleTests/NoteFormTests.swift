import Crypto
import Domain
import DomainSupport
import Ledger
import Testing

@testable import Console

/// A note as a person writes it, and as the customer's page shows it.
struct NoteFormTests {
  private static let now = AnsweredPurchases.now
  private static let customer = CustomerKey(publisherId: 7, id: "42")

  private static func form(_ text: String) -> NoteForm {
    var form = NoteForm()
    form.text = text
    return form
  }

  @Test(arguments: [
    ("called", true), ("", false), (" \n\t", false), (String(repeating: "ä", count: 2000), true),
    (String(repeating: "ä", count: 2001), false), ("a\u{0}b", false),
  ])
  func `a note has a text of a bounded length`(text: String, isGood: Bool) {
    #expect((Self.form(text).defect == nil) == isGood)
  }

  @Test func `a form has the lines of the note`() throws {
    let body = try #require(FormBody(Array("text=one%0D%0Atwo&noteId=x".utf8)))
    #expect(NoteForm(body).text == "one\ntwo" && NoteForm(body).id == "x")
    // The longest note in the widest letters is a body that the console takes.
    let widest = "text=" + String(repeating: "%F0%9F%98%80", count: NoteForm.longest)
    #expect(widest.utf8.count + 200 < ConsoleServer.mostBodyBytes)
    #expect(NoteForm(try #require(FormBody(Array(widest.utf8)))).defect == nil)
  }

  private static func page(_ role: ConsoleRole, _ form: NoteForm? = nil, _ moments: [ConsoleMoment] = []) throws
    -> Document
  {
    let person = ConsolePerson(name: "ada", role: role, publishers: .all, password: try Scrypt.ofNobody())
    var view = ConsoleView(prefix: "/c", person: person, now: now)
    if let form { view.refuse(.note(customer), [("text", form.text)], "Write the note first.") }
    return CustomerPage(
      view: view, customer: customer,
      rules: AccessRules(offers: OfferCatalog([]), allowsSandbox: true),
      holdings: CustomerPurchases(isKnown: true, version: 1), purchases: [],
      timeline: ConsoleTimeline.Reading(moments: moments)
    ).html
  }

  @Test func `the page has the form, and shows notes as text`() throws {
    #expect(try Self.page(.support).contains(#"action="/c/customers/7/42/notes""#))
    #expect(try !Self.page(.viewer).contains("/notes"))
    let kept = try Self.page(.support, Self.form("<b>bold</b>"))
    #expect(kept.contains("&lt;b&gt;bold&lt;/b&gt;</textarea>") && kept.contains(#"<details open="open">"#))
    let moment = ConsoleMoment(kind: .note, at: Self.now, what: "<i>one\ntwo", id: "n", about: "bob")
    let page = try Self.page(.support, nil, [moment])
    #expect(page.contains("<div class=\"note\">&lt;i&gt;one\ntwo</div>") && page.contains("bob"))
  }

  @Test func `support reads the names of colleagues only`() throws {
    let password = try Scrypt.ofNobody()
    let people = ConsolePeople(
      ConsolePerson.line("bob", .support, try #require(SeenPublishers("7")), password))
    func name(_ writer: String, to role: ConsoleRole) -> String? {
      let reader = ConsolePerson(name: "ada", role: role, publishers: .all, password: password)
      return AuditNames(reader: reader, people: people).name(ofPerson: writer, at: 7)
    }
    #expect(name("bob", to: .support) == "bob" && name("eve", to: .support) == nil)
    #expect(name("eve", to: .operator) == "eve" && name("bob", to: .viewer) == nil)
  }
}
