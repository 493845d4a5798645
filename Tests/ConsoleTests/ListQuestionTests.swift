import Crypto
import Domain
import HTTPServer
import Ledger
import Testing

@testable import Console

/// What an address asks a list for, and who may.
struct ListQuestionTests {
  private static func person(_ publishers: String, _ role: ConsoleRole = .support) throws -> ConsolePerson {
    ConsolePerson(
      name: "ada", role: role, publishers: try #require(SeenPublishers(publishers)),
      password: try Scrypt(of: "x", logN: 10))
  }

  private static func ask(
    _ query: [(name: String, value: String)], _ list: ConsoleList = .refundRequests, _ publishers: String = "7,8"
  ) throws -> ListQuestion {
    try ListQuestion(
      HTTPServerRequest(method: "GET", path: [list.rawValue], query: query), list, person(publishers), [9, 8, 7])
  }

  @Test func `a place has a text`() {
    for place in [ConsolePlace(1, 7, "a.b"), ConsolePlace(.min, PublisherId(.max), ""), ConsolePlace(0, 0, "é/?&")] {
      #expect(ConsolePlace(place.text) == place)
    }
    for text in ["", "1", "1.2", "x.2.a", "1.x.a", "1.2.a\u{0}", "1.2." + String(repeating: "a", count: 1024)] {
      #expect(ConsolePlace(text) == nil, "\(text)")
    }
  }

  @Test func `a page has as many rows as it may, and says where the next one begins`() {
    let page = ConsoleRows([1, 2, 3], limit: 2) { ConsolePlace(Int64($0), 7, "") }
    #expect(page.rows == [1, 2] && page.next == ConsolePlace(2, 7, ""))
    let last = ConsoleRows([1, 2], limit: 2) { ConsolePlace(Int64($0), 7, "") }
    #expect(last.rows == [1, 2] && last.next == nil)
  }

  @Test func `a question has the publishers that the person may see`() throws {
    #expect(try Self.ask([]).publishers == [7, 8])
    #expect(try Self.ask([(name: "publisher", value: "8")]).publishers == [8])
    #expect(try Self.ask([(name: "publisher", value: "")]).publisher == nil)
    #expect(try Self.ask([], .refundRequests, "5").publishers == [])
    // Who sees all publishers sees the entries that belong to none.
    #expect(try Self.ask([], .audit, "*").publishers == [0, 7, 8, 9])
    #expect(try Self.ask([], .audit).publishers == [7, 8])
    #expect(try Self.ask([(name: "publisher", value: "0")], .audit, "*").publishers == [0])
  }

  @Test func `another publisher is nothing, and what nobody can read is refused`() {
    for publisher in ["9", "5", "0", "-1"] {
      #expect(throws: ListQuestion.Mistake.nothing) { try Self.ask([(name: "publisher", value: publisher)]) }
    }
    for (name, value) in [("publisher", "x"), ("after", "x"), ("after", "1.2"), ("state", "a\u{0}")] {
      #expect(throws: ListQuestion.Mistake.unreadable, "\(name)") { try Self.ask([(name: name, value: value)]) }
    }
    // Another list's filter, and what no list has, say nothing.
    #expect(throws: Never.self) { try Self.ask([(name: "customer", value: "\u{0}"), (name: "other", value: "x")]) }
  }

  @Test func `too many publishers are a choice`() throws {
    let many = ListQuestion(choices: (1...201).map { PublisherId($0) })
    #expect(many.needsChoice && many.publishers == [])
    #expect(ListQuestion(choices: (1...200).map { PublisherId($0) }).publishers.count == 200)
    #expect(ListQuestion(choices: (1...201).map { PublisherId($0) }, publisher: 5).publishers == [5])
    // A page of unclaimed purchases is one publisher's.
    #expect(try Self.ask([], .unclaimed).needsChoice)
    #expect(try Self.ask([], .unclaimed, "7").publishers == [7])
  }

  @Test func `the way on keeps the question`() throws {
    let question = try Self.ask([
      (name: "state", value: "answered"), (name: "publisher", value: "8"), (name: "after", value: "1.8.a"),
    ])
    let link = Link("/c", ["refund-requests"], query: question.query(after: ConsolePlace(2, 8, "b&c")))
    #expect(link.address == "/c/refund-requests?publisher=8&state=answered&after=2.8.b%26c")
    #expect(Link("/c", ["audit"], query: try Self.ask([], .audit).query(after: nil)).address == "/c/audit")
  }

  @Test func `each list has a name of its own`() {
    let lists = ConsoleList.allCases
    #expect(Set(lists.map(\.label)).count == lists.count && Set(lists.map(\.title)).count == lists.count)
    for list in lists {
      #expect(ConsoleRoute([list.rawValue]) == .page(.list(list), isJSON: false))
      #expect(ConsoleRoute([list.rawValue + ".json"]) == .page(.list(list), isJSON: true))
      #expect(ConsoleRoute([list.rawValue, "7"]) == nil)
      // No own filter takes a name that every list has.
      #expect(Set(list.filters).isDisjoint(with: ["publisher", "after", "q"]))
    }
  }
}
