import Testing

@testable import AMQP

/// Matches confirms with messages, in every order in which a broker may send them.
struct PublishConfirmsTests {
  private typealias Confirms = PublishConfirms<String>

  private static let now = ContinuousClock.now

  /// So many messages, `a`, `b` and so on; some of them are overdue.
  private func confirms(_ count: Int, overdue: Set<String> = []) -> Confirms {
    var confirms = Confirms()
    for name in "abcde".map(String.init).prefix(count) {
      confirms.add("id-\(name)", name, until: Self.now + (overdue.contains(name) ? .zero : .seconds(1)))
    }
    return confirms
  }

  private func texts(_ ended: [(String, Confirms.Fate)]) -> [String] { ended.map { "\($0.0) \($0.1)" } }

  @Test func single() {
    var confirms = confirms(2)
    #expect(texts(confirms.settled(1, multiple: false, isAck: true)) == ["a confirmed"])
    #expect(confirms.count == 1)
    #expect(texts(confirms.settled(2, multiple: false, isAck: true)) == ["b confirmed"])
    #expect(confirms.count == 0)
  }

  @Test func outOfOrder() {
    var confirms = confirms(3)
    #expect(texts(confirms.settled(3, multiple: false, isAck: true)) == ["c confirmed"])
    #expect(texts(confirms.settled(1, multiple: false, isAck: true)) == ["a confirmed"])
    #expect(texts(confirms.settled(2, multiple: false, isAck: true)) == ["b confirmed"])
  }

  @Test func multipleTakesAllUpToTheTag() {
    var confirms = confirms(5)
    #expect(texts(confirms.settled(2, multiple: false, isAck: true)) == ["b confirmed"])
    #expect(texts(confirms.settled(4, multiple: true, isAck: true)) == ["a confirmed", "c confirmed", "d confirmed"])
    #expect(texts(confirms.settled(5, multiple: true, isAck: true)) == ["e confirmed"])
    #expect(confirms.count == 0)
  }

  @Test func tagZeroMeansAllOnlyWithMultiple() {
    var confirms = confirms(3)
    #expect(confirms.settled(0, multiple: false, isAck: true).isEmpty)
    #expect(confirms.count == 3)
    #expect(texts(confirms.settled(0, multiple: true, isAck: true)) == ["a confirmed", "b confirmed", "c confirmed"])
    #expect(confirms.settled(0, multiple: true, isAck: true).isEmpty)
  }

  @Test func tagZeroWithNothingPublished() {
    var confirms = Confirms()
    #expect(confirms.settled(0, multiple: true, isAck: true).isEmpty)
    #expect(confirms.add("id", "x") == 1)
  }

  @Test func nack() {
    var confirms = confirms(3)
    #expect(texts(confirms.settled(2, multiple: true, isAck: false)) == ["a refused", "b refused"])
    #expect(texts(confirms.settled(3, multiple: false, isAck: true)) == ["c confirmed"])
  }

  @Test func returnedThenConfirmed() {
    var confirms = confirms(2)
    confirms.returned("id-a", cause: "NO_ROUTE")
    #expect(confirms.count == 2)
    #expect(confirms.settled(2, multiple: true, isAck: true).map(\.1) == [.unroutable("NO_ROUTE"), .confirmed])
  }

  @Test func returnedThenRefused() {
    var confirms = confirms(1)
    confirms.returned("id-a", cause: "NO_ROUTE")
    #expect(confirms.settled(1, multiple: false, isAck: false).map(\.1) == [.refused])
  }

  /// The same message may be in flight twice. Each return belongs to the oldest one without a return.
  @Test func returnsOfOneIdGoInOrder() {
    var confirms = Confirms()
    for name in ["first", "second", "third"] { _ = confirms.add("same", name) }
    confirms.returned("same", cause: "one")
    confirms.returned("same", cause: "two")
    #expect(
      confirms.settled(3, multiple: true, isAck: true).map(\.1) == [.unroutable("one"), .unroutable("two"), .confirmed])
  }

  @Test func unknownTagsAndIdsAreIgnored() {
    var confirms = confirms(1)
    confirms.returned("id-unheard", cause: "NO_ROUTE")
    #expect(confirms.settled(2, multiple: false, isAck: true).isEmpty)
    #expect(confirms.settled(2, multiple: true, isAck: true).isEmpty)
    #expect(confirms.settled(.max, multiple: true, isAck: true).isEmpty)
    #expect(confirms.count == 1)
    #expect(texts(confirms.settled(1, multiple: false, isAck: true)) == ["a confirmed"])
    #expect(confirms.settled(1, multiple: false, isAck: true).isEmpty)
  }

  @Test func removed() {
    var confirms = confirms(3, overdue: ["b"])
    #expect(confirms.removeOverdue(at: Self.now) == ["b"])
    #expect(confirms.removeOverdue(at: Self.now).isEmpty)
    #expect(confirms.settled(2, multiple: false, isAck: true).isEmpty)
    #expect(texts(confirms.settled(3, multiple: true, isAck: true)) == ["a confirmed", "c confirmed"])
  }

  /// A broker may say "multiple" even for a single tag, and late. It confirms no message behind that tag.
  @Test
  func lateMultipleConfirmsNothingBehindItsTag() {
    var confirms = confirms(3, overdue: ["a"])
    #expect(confirms.removeOverdue(at: Self.now) == ["a"])
    #expect(texts(confirms.settled(2, multiple: false, isAck: true)) == ["b confirmed"])
    #expect(texts(confirms.settled(1, multiple: true, isAck: true)) == [])
    #expect(confirms.count == 1)
  }

  @Test func removeAllInOrder() {
    var confirms = confirms(4)
    _ = confirms.settled(2, multiple: false, isAck: true)
    #expect(confirms.removeAll() == ["a", "c", "d"])
    #expect(confirms.count == 0)
    #expect(confirms.add("id-e", "e") == 5)
  }
}
