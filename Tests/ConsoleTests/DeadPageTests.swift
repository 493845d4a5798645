import Crypto
import Domain
import DomainSupport
import Ledger
import Messaging
import Testing

@testable import Console

/// What was given up, as text: what a stranger wrote is escaped, and a viewer sees no customer.
struct DeadPageTests {
  private static let evil = "<script>alert('x')</script>\"&"
  private static let secret = "customer-secret"

  private static func row(_ text: String, id: String? = nil) -> DeadRow {
    var row = DeadRow(id: id ?? text, cause: .abandoned)
    (row.reason, row.publisherId, row.topic, row.attempt) = (text, 7, text, 4)
    row.buriedAt = AnsweredPurchases.now - 60_000
    (row.endpointId, row.customers) = (EndpointId(text), [CustomerId(secret), CustomerId(text)])
    return row
  }

  private static func page(_ role: ConsoleRole, _ rows: [DeadRow], kind: String = "deliveries") throws -> DeadPage {
    let person = ConsolePerson(name: "ada", role: role, publishers: .all, password: try Scrypt.ofNobody())
    let question = ListQuestion(choices: [7], filters: ["kind": kind])
    return DeadPage(
      view: ConsoleView(prefix: "/c", person: person, now: AnsweredPurchases.now), question: question,
      form: try #require(DeadForm(question)), rows: rows)
  }

  @Test(arguments: DeadKind.allCases)
  func `what a stranger wrote stays text`(kind: DeadKind) throws {
    let html = try Self.page(.operator, [Self.row(Self.evil)], kind: kind.rawValue).html
    #expect(!html.contains("<script") && html.contains("&lt;script&gt;"))
    var page = try Self.page(.operator, [])
    page.trouble = Self.evil
    #expect(!page.html.contains("<script") && page.html.contains("Not readable just now"))
  }

  @Test func `a viewer sees no customer and no reason, and changes nothing`() throws {
    let page = try Self.page(.viewer, [Self.row("what an endpoint answered", id: "evt")])
    for text in [page.html.text, String(decoding: page.json, as: UTF8.self)] {
      #expect(!text.contains(Self.secret) && text.contains("evt"))
    }
    #expect(!page.html.contains("/dead/retry") && !page.html.contains("/dead/drop"))
    #expect(!String(decoding: page.json, as: UTF8.self).contains(#""reason""#))
  }

  @Test func `support tries again, and only an operator drops`() throws {
    let row = Self.row("evt")
    let support = try Self.page(.support, [row]).html
    #expect(support.contains("action=\"/c/dead/retry\"") && !support.contains("/dead/drop"))
    #expect(support.contains(Self.secret))
    #expect(try Self.page(.operator, [row]).html.contains("action=\"/c/dead/drop\""))
  }

  @Test func `a message without an id has no form of its own: it would mean all`() throws {
    let html = try Self.page(.operator, [Self.row("", id: "")]).html
    // The two of the whole list.
    #expect(html.ranges(of: "name=\"id\"").count == 2)
    let full = try Self.page(.operator, [Self.row("evt")]).html
    #expect(full.ranges(of: "name=\"id\"").count == 4)
    #expect(full.contains("name=\"endpoint\" value=\"evt\""))
  }

  @Test func `an empty list is good news`() throws {
    #expect(try Self.page(.support, []).html.contains("Nothing was given up"))
  }

  @Test func `an empty page says that others' stand before it`() throws {
    var page = try Self.page(.support, [])
    page.hasMore = true
    #expect(!page.html.contains("Nothing was given up") && page.html.contains("None of the first 1000"))
    #expect(page.html.contains("action=\"/c/dead/retry\""))
  }
}
