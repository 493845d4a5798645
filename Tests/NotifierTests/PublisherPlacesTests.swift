import Testing

@testable import Notifier

/// How many places of a process one publisher takes.
struct PublisherPlacesTests {
  /// A share whose recent attempts took so long.
  private func share(_ concurrency: Int = 1000, took: Duration?) -> PublisherPlaces {
    var share = PublisherPlaces(concurrency: concurrency)
    guard let took else { return share }
    share.begin(.zero)
    share.end(begunAt: .zero, took)
    return share
  }

  /// Begins as many attempts as there is room for.
  private func fill(_ share: inout PublisherPlaces, at now: Duration, others: Int = 0) {
    while share.count < 5000, share.ask(now, others: others, ahead: 0, hasWaited: false) == .go { share.begin(now) }
  }

  @Test(arguments: [(1, 1), (3, 2), (8, 6), (1000, 750)])
  func `a quick publisher that is alone has three quarters, and at least one`(concurrency: Int, limit: Int) {
    #expect(share(concurrency, took: .milliseconds(10)).limit(.seconds(1), others: 0) == limit)
  }

  @Test(arguments: [nil, .milliseconds(201), .seconds(20)] as [Duration?])
  func `a slow publisher, or one that nothing is known of, has a quarter, and at least one`(took: Duration?) {
    for (concurrency, limit) in [(1, 1), (3, 1), (8, 2), (1000, 250)] {
      #expect(share(concurrency, took: took).limit(.seconds(30), others: 0) == limit)
    }
  }

  @Test func `others take from what a publisher may have, and never its last place`() {
    let (quick, slow) = (share(took: .milliseconds(200)), share(took: .milliseconds(201)))
    #expect([0, 400, 800, 1000, 1001].map { quick.limit(.seconds(1), others: $0) } == [750, 450, 150, 1, 1])
    #expect([0, 400, 500, 800, 1000, 1001].map { slow.limit(.seconds(1), others: $0) } == [250, 250, 250, 100, 1, 1])
  }

  @Test func `however many do their worst, one more finds room`() {
    for took in [Duration.milliseconds(1), .seconds(20)] {
      var shares = (0..<20).map { _ in share(took: took) }
      // Each share takes every place that it can get, again and again, and no attempt ends.
      for _ in 0..<100 {
        for index in shares.indices {
          let others = shares.reduce(0) { $0 + $1.count } - shares[index].count
          if shares[index].ask(took, others: others, ahead: 0, hasWaited: false) == .go { shares[index].begin(took) }
        }
      }
      let taken = shares.reduce(0) { $0 + $1.count }
      #expect(taken < 1000)
      var newcomer = share(took: nil)
      #expect(newcomer.ask(took, others: taken, ahead: 0, hasWaited: false) == .go)
    }
  }

  @Test func `a quick publisher that begins to hang is a slow one at once`() {
    var share = share(took: .milliseconds(1))
    fill(&share, at: .seconds(1))
    #expect(share.count == 750)
    #expect(share.limit(.seconds(1) + PublisherPlaces.quickness, others: 0) == 750)
    #expect(share.limit(.seconds(1) + PublisherPlaces.quickness + .milliseconds(1), others: 0) == 250)
    // An ended attempt makes no room until the publisher has no more places than a slow one.
    for _ in 0..<500 { share.end(begunAt: .seconds(1), .seconds(21)) }
    #expect(share.ask(.seconds(21), others: 0, ahead: 0, hasWaited: false) != .go)
    share.end(begunAt: .seconds(1), .seconds(21))
    #expect(share.ask(.seconds(21), others: 0, ahead: 0, hasWaited: false) == .go)
  }

  @Test func `a thousand endpoints that hang have a quarter of the places`() {
    var share = PublisherPlaces(concurrency: 1000)
    fill(&share, at: .zero)
    #expect(share.count == 250)
    #expect(share.ask(.zero, others: 0, ahead: 0, hasWaited: false) == .wait)
    // The longer the attempts hang, the fewer deliveries wait for them. No delivery waits in vain twice.
    #expect(share.ask(.seconds(20), others: 0, ahead: 5, hasWaited: false) == .wait)
    #expect(share.ask(.seconds(20), others: 0, ahead: 6, hasWaited: false) == .park(.seconds(1)))
    #expect(share.ask(.seconds(20), others: 0, ahead: 0, hasWaited: true) == .park(.seconds(1)))
    // Parked deliveries come back at the pace at which places become free, and if that takes longer than a minute, in
    // the second half of it.
    for _ in 0..<740 { _ = share.ask(.seconds(20), others: 0, ahead: 6, hasWaited: false) }
    #expect(share.ask(.seconds(20), others: 0, ahead: 6, hasWaited: false) == .park(.milliseconds(59_440)))
    for _ in 0..<259 { _ = share.ask(.seconds(20), others: 0, ahead: 6, hasWaited: false) }
    #expect(share.ask(.seconds(20), others: 0, ahead: 6, hasWaited: false) == .park(.milliseconds(37_920)))
  }

  @Test func `attempts that hang are expected to take seconds, before anybody knows how many`() {
    // The hundredth delivery that goes away: 250 places come free in five seconds.
    func hundredth(
      _ share: PublisherPlaces, filledAt start: Duration = .seconds(9), at age: Duration
    ) -> EndpointLane.Admission {
      var share = share
      fill(&share, at: start)
      for _ in 1...99 { _ = share.ask(start + age, others: 0, ahead: 0, hasWaited: true) }
      return share.ask(start + age, others: 0, ahead: 0, hasWaited: true)
    }
    for usual in [nil, .milliseconds(1), .milliseconds(100)] as [Duration?] {
      #expect(hundredth(share(took: usual), at: PublisherPlaces.silence) == .park(.seconds(1)))
      #expect(hundredth(share(took: usual), at: .milliseconds(401)) == .park(.seconds(2)))
    }
    // Somebody answers: the old ones say nothing about the others.
    for end in [1599, 1600] {
      var mixed = PublisherPlaces(concurrency: 1000)
      fill(&mixed, at: .zero)
      mixed.end(begunAt: .zero, .milliseconds(5))
      mixed.begin(.zero)
      mixed.end(begunAt: .zero, .milliseconds(end))
      mixed.begin(.zero)
      #expect(hundredth(mixed, filledAt: .zero, at: .seconds(2)) == .park(.seconds(end == 1600 ? 1 : 2)))
    }
    // Who is slow does not hang for that.
    #expect(hundredth(share(took: .seconds(1)), at: .milliseconds(401)) == .park(.seconds(1)))
    #expect(hundredth(share(took: .seconds(1)), at: .milliseconds(4001)) == .park(.seconds(2)))
    #expect(hundredth(share(took: .seconds(1)), at: .seconds(10)) == .park(.seconds(4)))
  }

  @Test func `a burst that fills the prefetch waits, and is not sent away`() {
    for took in [nil, .milliseconds(10), PublisherPlaces.quickness] as [Duration?] {
      var share = share(took: took)
      let now: Duration = .seconds(1)
      fill(&share, at: now)
      let rest = 1000 - share.count
      #expect(rest > 0)
      for ahead in 0..<rest { #expect(share.ask(now, others: 0, ahead: ahead, hasWaited: false) == .wait) }
    }
  }

  @Test func `an endpoint that answers just quick enough does not grow to take everything`() {
    let took: Duration = .milliseconds(950)
    var share = PublisherPlaces(concurrency: 1000)
    var lane = EndpointLane()
    var underWay: [Int] = []
    var most = 0
    for round in 0..<20 {
      let now = took * round
      for attempt in underWay {
        lane.end(attempt, now, ranOutOfTime: false)
        share.end(begunAt: now - took, now)
      }
      underWay = []
      for _ in 0..<1000 where share.ask(now, others: 0, ahead: 0, hasWaited: false) == .go {
        let (admission, attempt) = lane.ask(now, limit: 1000, ahead: 0, hasWaited: false, isCrowded: false)
        guard admission == .go else { break }
        share.begin(now)
        underWay.append(attempt)
      }
      most = max(most, underWay.count)
    }
    // The lane alone would admit a thousand by now.
    #expect(lane.window == 1000)
    #expect(most == 250)
    #expect(share.count == 250)
  }

  @Test func `what was not made leaves room`() {
    var share = PublisherPlaces(concurrency: 4)
    #expect(share.ask(.zero, others: 0, ahead: 0, hasWaited: false) == .go)
    share.begin(.zero)
    #expect(share.ask(.zero, others: 0, ahead: 0, hasWaited: false) == .wait)
    share.end(begunAt: .zero, nil)
    #expect(share.count == 0)
    // A delivery that already waits comes first.
    #expect(share.ask(.zero, others: 0, ahead: 1, hasWaited: false) == .wait)
    #expect(share.ask(.zero, others: 0, ahead: 0, hasWaited: false) == .go)
  }
}
