import Crypto
import Domain
import DomainSupport
import HTTPServer
import Ledger
import Testing

@testable import Console

/// Lines of a timeline: what events and people did.
struct TimelineTests {
  private static let now = AnsweredPurchases.now

  private static func view(_ role: ConsoleRole = .support) throws -> ConsoleView {
    ConsoleView(
      prefix: "/c",
      person: ConsolePerson(name: "ada", role: role, publishers: .all, password: try Scrypt(of: "x", logN: 10)),
      now: now)
  }

  @Test(
    arguments: [
      (#"{"data":{"purchase":{"originalTransactionId":"100"},"reason":"renewed"}}"#, "100", "renewed"),
      (#"{"data":{"originalTransactionId":"100","result":"PURCHASE_REVOKED"}}"#, "100", "PURCHASE_REVOKED"),
      (
        #"{"data":{"purchase":{"access":{"rule":"refunded"},"originalTransactionId":"100"}}}"#, "100", "refunded"
      ),
      (#"{"data":{"after":{"accessGranted":true},"cause":"purchase","offerId":"S1"}}"#, "S1", "access, purchase"),
      (#"{"data":{"after":{"accessGranted":false},"offerId":"S1"}}"#, "S1", "no access"),
      (#"{"data":{"before":{"accessGranted":true},"offerId":"S1"}}"#, "S1", "no access"),
      (#"{"data":{"endpointId":"ep","reason":"gone"}}"#, "ep", "gone"),
      (#"{"data":{"reason":""}}"#, nil, nil), (#"{"data":{"reason":7,"purchase":[]}}"#, nil, nil),
      (#"{"data":[]}"#, nil, nil), ("[]", nil, nil), ("?", nil, nil), (nil, nil, nil),
    ] as [(String?, String?, String?)])
  func `an event says why`(body: String?, about: String?, detail: String?) {
    let words = ConsoleMoment.words(ofEvent: body.map { Array($0.utf8) })
    #expect(words.about == about && words.detail == detail)
  }

  @Test func `a long word of a stranger is cut`() {
    let body = "{\"data\":{\"reason\":\"\(String(repeating: "x", count: 5000))\"}}"
    #expect(ConsoleMoment.words(ofEvent: Array(body.utf8)).detail == String(repeating: "x", count: 200))
  }

  @Test func `what people did again leads to its page`() throws {
    let moments = [("event.resent", "evt_1"), ("jobs.retried", "sync-1"), ("purchase.released", "81")].map {
      ConsoleMoment(kind: .change, at: Self.now, what: $0.0, id: $0.1)
    }
    let html = HTML.timeline("", moments, try Self.view(), of: 7).source
    #expect(html.contains("href=\"/c/events/7/evt_1\"") && html.contains("href=\"/c/synchronizations/7/sync-1\""))
    #expect(html.contains("<code>81</code>"))
  }

  @Test(
    arguments: [
      ("operator:bob", .operator, "operator bob"), ("operator:bob", .support, "operator bob"),
      ("operator:kim", .support, "operator"), ("operator:ada", .support, "operator ada"),
      ("operator:bob", .viewer, "operator"),
      ("publisher:shop", .support, "publisher shop"), ("apple", .support, "apple"),
      ("", .operator, ""),
    ] as [(String, ConsoleRole, String)])
  func `a change names the person to colleagues`(column: String, role: ConsoleRole, words: String) throws {
    let line = ConsolePerson.line("bob", .support, .all, try Scrypt(of: "x", logN: 10))
    let names = AuditNames(reader: try Self.view(role).person, people: ConsolePeople(line))
    #expect(names.who(column, at: 7) == words)
  }

  private static func entry(_ name: String?, actor: String = "operator") -> ConsoleAudit.Entry {
    ConsoleAudit.Entry(
      id: 81, publisherId: 7, at: now, actor: actor, name: name, action: "console.signedIn", subject: "console",
      address: "203.0.113.7")
  }

  @Test(
    arguments: [
      ("bob", .operator, true), ("bob", .support, true), ("kim", .support, false), (nil, .support, false),
      (nil, .operator, true), ("ada", .viewer, false), (nil, .viewer, false),
    ] as [(String?, ConsoleRole, Bool)])
  func `who reads a name reads from where`(name: String?, role: ConsoleRole, isShown: Bool) throws {
    let line = ConsolePerson.line("bob", .support, .all, try Scrypt(of: "x", logN: 10))
    let view = try Self.view(role)
    let page = AuditPage(
      view: view, question: ListQuestion(choices: [7]),
      names: AuditNames(reader: view.person, people: ConsolePeople(line)), found: ConsoleRows([Self.entry(name)]))
    #expect(page.html.contains("<code>203.0.113.7</code>") == isShown)
    #expect(page.html.contains(">From</th>") == (role != .viewer))
    #expect(String(decoding: page.json, as: UTF8.self).contains("203.0.113.7") == isShown)
  }

  @Test func `a message leads back to the page of the action`() throws {
    let view = try Self.view()
    let action = ConsoleRoute.Action.recover(EndpointKey(publisherId: 7, id: "ep"))
    let reader = ConsoleReader(view: view, page: action.page.segments)
    let refused = String(decoding: reader.message(409, "Not done", "why").body, as: UTF8.self)
    #expect(refused.contains("<a href=\"/c/endpoints/7/ep\">Back to the page</a>") && refused.contains("why"))
    let elsewhere = String(
      decoding: reader.back(to: view.link(["dead"])).answer(to: .malformed).body, as: UTF8.self)
    #expect(elsewhere.contains("<a href=\"/c/dead\">Back to the page</a>"))
    let page = String(decoding: ConsoleReader(view: view).nothing.body, as: UTF8.self)
    #expect(page.contains("<a href=\"/c/\">Find by any id</a>"))
    let viewer = ConsoleReader(view: try Self.view(.viewer), page: ["dead"])
    do {
      try viewer.mustAct()
      Issue.record("a viewer may act")
    } catch {
      let refusal = viewer.answer(to: error)
      #expect(refusal.status == 403)
      #expect(String(decoding: refusal.body, as: UTF8.self).contains("href=\"/c/dead\">Back"))
    }
    #expect(throws: Never.self) { try reader.mustAct() }
  }
}
