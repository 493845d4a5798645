import Testing

@testable import Notifier

/// How much of a process one publisher takes.
struct PublisherShareTests {
  @Test(arguments: [(1, 1), (3, 1), (8, 2), (1000, 250)])
  func `a publisher has a quarter, and at least one`(concurrency: Int, limit: Int) {
    #expect(PublisherShare(concurrency: concurrency).limit == limit)
  }

  @Test func `a thousand endpoints that hang have a quarter of the places`() {
    var share = PublisherShare(concurrency: 1000)
    for _ in 0..<1000 where share.ask(.zero, ahead: 0, hasWaited: false) == .go { share.begin(.zero) }
    #expect(share.count == 250)
    #expect(share.ask(.zero, ahead: 0, hasWaited: false) == .wait)
    // The longer they hang the fewer wait for them; nobody does in vain twice.
    #expect(share.ask(.seconds(20), ahead: 5, hasWaited: false) == .wait)
    #expect(share.ask(.seconds(20), ahead: 6, hasWaited: false) == .park(.seconds(1)))
    #expect(share.ask(.seconds(20), ahead: 0, hasWaited: true) == .park(.seconds(1)))
    // Those that go away come back at the pace at which places come free.
    for _ in 0..<1000 { _ = share.ask(.seconds(20), ahead: 6, hasWaited: false) }
    #expect(share.ask(.seconds(20), ahead: 6, hasWaited: false) == .park(.seconds(60)))
  }

  @Test func `an endpoint that answers just quick enough does not grow to take everything`() {
    let took: Duration = .milliseconds(950)
    var share = PublisherShare(concurrency: 1000)
    var lane = Lane()
    var underWay: [Int] = []
    var most = 0
    for round in 0..<20 {
      let now = took * round
      for attempt in underWay {
        lane.end(attempt, now, ranOutOfTime: false)
        share.end(begunAt: now - took, now)
      }
      underWay = []
      for _ in 0..<1000 where share.ask(now, ahead: 0, hasWaited: false) == .go {
        let (admission, attempt) = lane.ask(now, limit: 1000, ahead: 0, hasWaited: false, isCrowded: false)
        guard admission == .go else { break }
        share.begin(now)
        underWay.append(attempt)
      }
      most = max(most, underWay.count)
    }
    // The lane alone would let a thousand through by now.
    #expect(lane.window == 1000)
    #expect(most == 250)
    #expect(share.count == 250)
  }

  @Test func `what was not made leaves room`() {
    var share = PublisherShare(concurrency: 4)
    #expect(share.ask(.zero, ahead: 0, hasWaited: false) == .go)
    share.begin(.zero)
    #expect(share.ask(.zero, ahead: 0, hasWaited: false) == .wait)
    share.end(begunAt: .zero, nil)
    #expect(share.count == 0)
    // Whoever waits comes first.
    #expect(share.ask(.zero, ahead: 1, hasWaited: false) == .wait)
    #expect(share.ask(.zero, ahead: 0, hasWaited: false) == .go)
  }
}
