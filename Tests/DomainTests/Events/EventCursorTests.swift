import Domain
import Testing

/// The cursors of readers by pull, and what a reader gets for one.
struct EventCursorTests {
  private func cursor(_ horizon: Int64, _ place: Int64, history: UInt64 = 7) -> EventCursor {
    EventCursor(history: history, position: EventPosition(horizon: horizon, place: place))
  }

  @Test func `a cursor reads its own text`() {
    for cursor in [cursor(0, 0), cursor(1, 2), cursor(.max, .max, history: .max), cursor(0xAB_CDEF, 9, history: 1)] {
      #expect(cursor.text.utf8.count == 50)
      #expect(EventCursor(cursor.text) == cursor)
    }
    #expect(cursor(255, 16).text == "01" + "0000000000000007" + "00000000000000ff" + "0000000000000010")
  }

  @Test func `any other text is no cursor`() {
    let good = cursor(255, 16).text
    let shorter = String(good.dropLast())
    let endings: [String] = ["", "g", "\u{0}", "-", " ", "é", "00"]
    let bad: [String] = [
      "", "0", "next", "\(good)0", "\(good)00", good.uppercased(), "02\(good.dropFirst(2))", " \(shorter)",
      // Numbers that are too great.
      "01\(String(repeating: "f", count: 48))", "\(good.prefix(18))8\(good.suffix(31))",
      String(repeating: "0", count: 50), String(repeating: "-", count: 50), String(repeating: "0", count: 1_000_000),
    ]
    for text in bad + endings.map({ shorter + $0 }) { #expect(EventCursor(text) == nil, "\(text.prefix(60))") }
  }

  @Test func `a history is one server's, one timeline's and one publisher's`() {
    let all = [(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2), (11, 1, 1), (1, 11, 1)].map { system, timeline, publisher in
      EventCursor.history(system: Int64(system), timeline: Int64(timeline), publisher: PublisherId(Int64(publisher)))
    }
    #expect(Set(all).count == all.count)
    #expect(all[0] == EventCursor.history(system: 1, timeline: 1, publisher: 1))
  }

  @Test func `positions are in the order of horizons, then of places`() {
    let positions = [EventPosition.start, .init(horizon: 0, place: 1), .init(horizon: 1, place: 0)]
    #expect(positions.shuffled().sorted() == positions)
  }

  @Test func `a reader goes on from a cursor of this history that nothing was deleted behind`() {
    var moment = EventMoment(history: 7, end: 100)
    #expect(moment.refusal(of: nil) == nil)
    #expect(moment.refusal(of: cursor(0, 0)) == nil && moment.refusal(of: cursor(100, 5)) == nil)
    #expect(moment.refusal(of: cursor(101, 5)) == .otherHistory)
    #expect(moment.refusal(of: cursor(5, 5, history: 8)) == .otherHistory)
    moment.floor = EventPosition(horizon: 50, place: 3)
    #expect(moment.refusal(of: nil) == nil)
    #expect(moment.refusal(of: cursor(50, 3)) == nil && moment.refusal(of: cursor(50, 4)) == nil)
    #expect(moment.refusal(of: cursor(50, 2)) == .deleted && moment.refusal(of: cursor(0, 0)) == .deleted)
    // The cursor says nothing about this history.
    #expect(moment.refusal(of: cursor(5, 5, history: 8)) == .otherHistory)
  }

  @Test func `nobody reads while events of another server have no order here`() {
    let behind = EventPosition(horizon: 101, place: 0)
    for cursor in [nil, cursor(5, 5), cursor(5, 5, history: 8)] {
      #expect(EventMoment(history: 7, end: 100, newest: behind).refusal(of: cursor) == .ledgerNotReady)
      #expect(EventMoment(history: 7, end: 100, floor: behind).refusal(of: cursor) == .ledgerNotReady)
    }
    #expect(EventMoment(history: 7, end: 101, newest: behind).refusal(of: nil) == nil)
  }
}

/// The pages of readers by pull.
struct EventPageTests {
  private func events(_ positions: ClosedRange<Int64>) -> [(event: Event, position: EventPosition)] {
    positions.map { number in
      (
        Event(id: EventId("evt_\(number)"), publisherId: 1, topic: "t", time: 0, body: []),
        EventPosition(horizon: number, place: number)
      )
    }
  }

  private func page(_ shown: Int64, of wanted: Int, upTo: Int64, lookedAt: Int) -> EventPage {
    let moment = EventMoment(
      history: 7, end: 100, lookedUpTo: EventPosition(horizon: upTo, place: upTo), lookedAt: lookedAt, wanted: wanted)
    return EventPage(shown > 0 ? events(1...shown) : [], after: nil, moment, window: 10)
  }

  @Test func `a page that has everything leads behind everything that was looked at`() {
    let page = page(3, of: 3, upTo: 8, lookedAt: 8)
    #expect(page.events.map(\.id) == ["evt_1", "evt_2", "evt_3"])
    #expect(page.next.position == EventPosition(horizon: 8, place: 8) && page.next.history == 7 && !page.hasMore)
  }

  @Test func `a page that is cut leads behind its last event`() {
    let page = page(2, of: 3, upTo: 8, lookedAt: 8)
    #expect(page.next.position == EventPosition(horizon: 2, place: 2) && page.hasMore)
  }

  @Test func `a window without a wanted event leads on`() {
    let page = page(0, of: 0, upTo: 10, lookedAt: 10)
    #expect(page.events.isEmpty && page.next.position == EventPosition(horizon: 10, place: 10) && page.hasMore)
  }

  @Test func `without anything new, the cursor stays`() {
    let cursor = EventCursor(history: 7, position: EventPosition(horizon: 4, place: 4))
    let floor = EventPosition(horizon: 2, place: 1)
    let moment = EventMoment(history: 7, end: 100, floor: floor)
    let page = EventPage([], after: cursor, moment, window: 10)
    #expect(page.next == cursor && !page.hasMore)
    // The beginning is behind what was deleted: else the next request would be refused.
    #expect(EventPage([], after: nil, moment, window: 10).next.position == floor)
    let empty = EventMoment(history: 7, end: 100)
    #expect(EventPage([], after: nil, empty, window: 10).next.position == .start)
  }
}
