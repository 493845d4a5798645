import Domain
import HTTPServer
import JSON
import Testing

@testable import Gateway

/// The query of a request for events, and an event as the answer has it.
struct EventsRequestTests {
  private static let topics: [EventTopic] = ["a", "b", "b.c"]
  private static let cursor = EventCursor(history: 1, position: EventPosition(horizon: 2, place: 3))

  private func read(_ query: [(String, String)]) throws(Problem) -> EventsRequest {
    try EventsRequest(HTTPServerRequest(method: "GET", path: ["events"], query: query), known: Self.topics)
  }

  @Test func `everything has a default`() throws {
    let request = try read([])
    #expect(request.limit == 50 && request.wait == 0 && request.after == nil && request.since == nil)
    #expect(request.topics.isEmpty)
  }

  @Test func `a whole request`() throws {
    let request = try read([
      ("after", Self.cursor.text), ("topic", "b.c,a"), ("since", "1970-01-01T00:00:01Z"), ("limit", "250"),
      ("wait", "25"),
    ])
    #expect(request.after == Self.cursor && request.topics == ["b.c", "a"] && request.since == 1000)
    #expect(request.limit == 250 && request.wait == 25)
  }

  @Test(arguments: [
    ("after", ""), ("after", "x"), ("after", cursor.text + "0"), ("topic", ""), ("topic", "a,"), ("topic", "c"),
    ("topic", "a,a"), ("topic", "a b"), ("since", ""), ("since", "yesterday"), ("since", "1970-01-01"), ("limit", "0"),
    ("limit", "251"), ("limit", "-1"), ("limit", "05"), ("limit", "9223372036854775808"), ("wait", "26"), ("wait", ""),
    ("wait", "1.5"), ("before", "1"),
  ])
  func `anything else is refused`(name: String, value: String) {
    let problem = #expect(throws: Problem.self) { _ = try read([(name, value)]) }
    #expect(problem?.status == 400 && problem?.code == "REQ0002")
    #expect(problem?.detail?.hasPrefix(name) == true)
  }

  @Test func `a wrong topic is named, with the nearest one`() {
    let problem = #expect(throws: Problem.self) { _ = try read([("topic", "a,b.d")]) }
    #expect(
      problem?.detail == #"topic: has "b.d", expected some of a,b,b.c, none of them twice; did you mean b.c?"#)
  }

  @Test func `a parameter that is there twice is refused`() {
    let problem = #expect(throws: Problem.self) { _ = try read([("topic", "a"), ("topic", "b")]) }
    #expect(problem?.detail == "topic: is there twice")
  }

  @Test func `an event is a CloudEvent whose data is the body that everybody gets`() {
    let body = Array(#"{"broadcasterId":1,"data":{},"topic":"a"}"#.utf8)
    let event = Event(
      id: "evt_1", publisherId: 1, customerId: "me", topic: "a", version: 4, traceparent: "00-1", time: 1000,
      body: body)
    #expect(
      String(decoding: event.cloudEvent, as: UTF8.self)
        == #"{"data":\#(String(decoding: body, as: UTF8.self)),"datacontenttype":"application/json","id":"evt_1","#
        + #""source":"/countersign/1","specversion":"1.0","time":"1970-01-01T00:00:01.000Z","traceparent":"00-1","#
        + #""type":"a","version":4}"#)
  }

  @Test func `a cursor that cannot be used says what to do`() {
    #expect(Problem.unusable(.deleted).status == 410 && Problem.unusable(.deleted).code == "EVT0001")
    #expect(Problem.unusable(.otherHistory).status == 410 && Problem.unusable(.otherHistory).code == "EVT0002")
    #expect(Problem.unusable(.ledgerNotReady).status == 503)
  }
}
