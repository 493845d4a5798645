import Domain
import Testing

/// Which events of a publisher are few, and which come along with many.
struct EventPacesTests {
  /// Counts events that come in one moment.
  private func crowds(
    _ count: Int, of publisher: PublisherId = 1, at now: Duration, _ paces: inout EventPaces
  ) -> [EventCrowd] {
    (0..<count).map { _ in paces.add(publisher, at: now) }
  }

  @Test func `of a burst the first events are few, the next ones a burst, and the rest a flood`() {
    var paces = EventPaces()
    let crowds = crowds(20_000, at: .seconds(7), &paces)
    let expected =
      Array(repeating: EventCrowd.few, count: EventPaces.few)
      + Array(repeating: .burst, count: EventPaces.burst - EventPaces.few)
      + Array(repeating: .flood, count: 20_000 - EventPaces.burst)
    #expect(crowds == expected)
  }

  @Test func `another publisher's event is one of few meanwhile`() {
    var paces = EventPaces()
    _ = crowds(20_000, of: 1, at: .zero, &paces)
    #expect(paces.add(2, at: .zero) == .few)
    #expect(paces.add(1, at: .zero) == .flood)
  }

  @Test func `events at the pace are few for good`() {
    var paces = EventPaces()
    let interval = Duration.seconds(1) / EventPaces.perSecond
    #expect((0..<100_000).allSatisfy { paces.add(1, at: interval * $0) == .few })
  }

  @Test func `events that come in small crowds are few, although they beat the pace for a moment`() {
    var paces = EventPaces()
    for second in 0..<10 {
      let start = Duration.seconds(second)
      #expect((0..<140).allSatisfy { paces.add(1, at: start + .milliseconds($0)) == .few })
    }
  }

  @Test func `a burst is over when its events would be through at the pace`() {
    var paces = EventPaces()
    _ = crowds(EventPaces.perSecond, at: .zero, &paces)
    // A second's events are ahead of the pace, and few of them may be.
    let last = Duration.seconds(1) - Duration.seconds(1) / EventPaces.perSecond * EventPaces.few
    #expect(paces.add(1, at: last) == .burst)
    var others = EventPaces()
    _ = crowds(EventPaces.perSecond, at: .zero, &others)
    #expect(others.add(1, at: last + .milliseconds(1)) == .few)
  }

  @Test func `a flood of any length is over within three minutes`() {
    var paces = EventPaces()
    _ = crowds(200_000, at: .zero, &paces)
    #expect(paces.add(1, at: .seconds(100)) == .flood)
    #expect(paces.add(1, at: .seconds(161)) == .few)
  }

  @Test func `publishers whose events are through are forgotten`() {
    var paces = EventPaces()
    for publisher in 0..<1_000 { _ = paces.add(PublisherId(Int64(publisher)), at: .zero) }
    #expect(paces.count == 1_000)
    _ = paces.add(5_000, at: .seconds(1))
    #expect(paces.count == 1)
  }
}
