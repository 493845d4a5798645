import Domain
import JSON
import Ledger
import Testing

@testable import Gateway

/// How many elements a page has.
struct PageTextTests {
  private func page(_ sizes: [Int], most: Int) -> PageText<Int> {
    PageText(sizes, most: most) { [UInt8](repeating: 97, count: $0) }
  }

  @Test func `a page has all elements that fit`() {
    let page = page([10, 10, 10], most: 33)
    #expect(page.elements.map(\.count) == [10, 10, 10] && page.end == nil)
    #expect(self.page([], most: 33).elements.isEmpty && self.page([], most: 33).end == nil)
  }

  @Test func `it ends before the element that would be too much`() {
    let page = page([10, 11, 12, 13], most: 34)
    #expect(page.elements.map(\.count) == [10, 11] && page.end == 11)
  }

  @Test func `a small element behind a large one waits too`() {
    let page = page([10, 50, 1], most: 34)
    #expect(page.elements.map(\.count) == [10] && page.end == 10)
  }

  @Test func `the first element always fits`() {
    #expect(page([50], most: 34).elements.count == 1 && page([50], most: 34).end == nil)
    #expect(page([50, 1], most: 34).elements.count == 1 && page([50, 1], most: 34).end == 50)
  }

  @Test func `nothing behind the end is written`() {
    var written: [Int] = []
    _ = PageText([1, 2, 3, 4], most: 5) { element -> [UInt8] in
      written.append(element)
      return [UInt8](repeating: 97, count: element)
    }
    #expect(written == [1, 2, 3])
  }

  // MARK: Attempts

  private struct List: Decodable {
    let attempts: [Attempt]
    let nextCursor: String?

    struct Attempt: Decodable {
      let eventId: String
    }
  }

  private func attempts(_ numbers: Range<Int>, next: String?, answer: String) -> AttemptPage {
    AttemptPage(
      entries: numbers.map { number in
        let attempt = DeliveryAttempt(
          eventId: "evt_\(number)", endpointId: "a", topic: "t", number: 1, time: 0, status: 500, answer: answer,
          result: .failed)
        return AttemptPage.Entry(attempt, cursor: "1-\(number)")
      }, next: next)
  }

  private func read(_ body: [UInt8]) throws -> List { try JSONText(body).decoded() }

  /// A notifier of an earlier version kept answers that take 6 KiB as JSON.
  @Test func `the longest answers fill a page before its limit of elements`() {
    let answer = String(repeating: "\u{1}", count: 1024)
    let count = attempts(0..<250, next: nil, answer: answer).body().count
    #expect(count > 500 << 10 && count < 513 << 10)
  }

  @Test func `each attempt is on one page`() throws {
    var (seen, pages) = ([String](), 0)
    while seen.count < 100 {
      let rest = seen.count..<100
      let list = try read(attempts(rest, next: nil, answer: "\u{1}\u{2}").body(most: 4096))
      seen += list.attempts.map(\.eventId)
      pages += 1
      let last = try #require(list.attempts.last?.eventId)
      #expect(list.nextCursor == (seen.count < 100 ? "1-\(last.dropFirst(4))" : nil))
    }
    #expect(seen == (0..<100).map { "evt_\($0)" } && pages > 2)
  }

  @Test func `a page that fits has the cursor of the ledger`() throws {
    #expect(try read(attempts(0..<2, next: "1-9", answer: "x").body()).nextCursor == "1-9")
    #expect(try read(attempts(0..<2, next: nil, answer: "x").body()).nextCursor == nil)
    #expect(try read(attempts(0..<2, next: "1-9", answer: "x").body(most: 10)).nextCursor == "1-0")
    #expect(String(decoding: attempts(0..<0, next: nil, answer: "").body(), as: UTF8.self) == #"{"attempts":[]}"#)
  }
}
