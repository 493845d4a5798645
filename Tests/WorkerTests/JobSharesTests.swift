import Coordination
import Domain
import Testing

@testable import Worker

/// How a worker's places are shared out, by value.
struct JobSharesTests {
  /// Takes places for as many jobs as may have one.
  private func fill(
    _ shares: inout JobShares, _ publisher: PublisherId, _ lane: JobLane = .usual, at now: Duration = .zero
  ) -> Int {
    var count = 0
    while shares.ask(publisher, lane, at: now) == .takes {
      shares.hold(publisher, lane, at: now)
      count += 1
    }
    return count
  }

  @Test func `a publisher alone gets as many places as are configured`() {
    var shares = JobShares(concurrency: 200)
    #expect(fill(&shares, 1) == 200)
    #expect(shares.all.free == 66)
  }

  @Test func `however many publishers fill the worker, the next one gets a place`() {
    var shares = JobShares(concurrency: 200)
    let counts = (1...10).map { fill(&shares, PublisherId($0)) }
    #expect(counts == [200, 50, 12, 3, 1, 0, 0, 0, 0, 0])
    // Once the first ones give some back, all come closer to each other.
    for _ in 0..<100 { shares.end(1, .usual, takenAt: .zero) }
    #expect((1...10).map { fill(&shares, PublisherId($0)) }.reduce(0, +) == 100)
  }

  @Test func `one place is enough for one job at a time`() {
    var shares = JobShares(concurrency: 1)
    #expect(fill(&shares, 1) == 1)
    #expect(fill(&shares, 2) == 1)
    #expect(fill(&shares, 3) == 0)
  }

  @Test func `jobs of a quick publisher wait a moment, and those of a slow one go away`() {
    var shares = JobShares(concurrency: 4)
    #expect(fill(&shares, 1, at: .seconds(5)) == 4)
    #expect(shares.ask(1, .usual, at: .seconds(5) + JobShares.quickness) == .waits)
    #expect(shares.ask(1, .usual, at: .seconds(6) + .milliseconds(1)) == .goesAway)
    #expect(shares.ask(2, .usual, at: .seconds(60)) == .takes)
    // A new job makes the mean younger.
    shares.end(1, .usual, takenAt: .seconds(5))
    shares.hold(1, .usual, at: .seconds(8))
    #expect(shares.ask(1, .usual, at: .milliseconds(6500)) == .waits)
  }

  @Test func `a publisher without a job in hand goes away from a full worker`() {
    var shares = JobShares(concurrency: 1)
    shares.hold(1, .usual, at: .zero)
    shares.hold(2, .usual, at: .zero)
    #expect(shares.ask(3, .usual, at: .zero) == .goesAway)
  }

  @Test func `bulk gets a tenth of the places, and publishers share it`() {
    var shares = JobShares(concurrency: 200)
    #expect((1...4).map { fill(&shares, PublisherId($0), .bulk) } == [20, 5, 1, 0])
    #expect(shares.ask(9, .bulk, at: .zero) == .goesAway)
    #expect(shares.ask(1, .usual, at: .zero) == .takes)
    shares.end(1, .bulk, takenAt: .zero)
    #expect(fill(&shares, 9, .bulk) == 1)
  }

  @Test func `the line may take as much of each publisher as deliveries could`() {
    var shares = JobShares(concurrency: 8)
    for _ in 0..<6 { shares.hold(1, .usual, at: .zero) }
    shares.hold(2, .bulk, at: .zero)
    // 3 of 10 places are free, and 1 of 2 for bulk.
    let allowances = shares.allowances
    #expect(allowances.all == 3 && allowances.bulk == 1)
    #expect(allowances.others == LineAllowances.Left(all: 3, bulk: 1))
    #expect(allowances.publishers == [1: .init(all: 1, bulk: 1), 2: .init(all: 2, bulk: 0)])
    // Whoever takes them one after the other gets as many.
    for (publisher, count): (PublisherId, Int) in [(1, 1), (2, 2), (3, 3)] {
      var shares = shares
      #expect(fill(&shares, publisher) == count)
    }
  }

  @Test func `the line has places in any case, and publishers share them, too`() {
    var shares = JobShares(concurrency: 200)
    for publisher in (1...300).map({ PublisherId($0) }) { shares.hold(publisher, .usual, at: .zero) }
    #expect(shares.all.free == 0)
    #expect(shares.allowances.all == 66)
    #expect(shares.allowances.others.all == 50)
    #expect(shares.allowances.publishers[7]?.all == 49)
    for _ in 0..<50 { shares.hold(7, .usual, .line, at: .zero) }
    #expect(shares.allowances.all == 16)
    #expect(shares.allowances.publishers[7]?.all == 0)
    #expect(shares.allowances.others.all == 12)
    for _ in 0..<50 { shares.end(7, .usual, .line, takenAt: .zero) }
    #expect(shares.allowances.all == 66)
  }

  @Test func `an end without a beginning changes nothing`() {
    var shares = JobShares(concurrency: 8)
    shares.end(1, .usual, takenAt: .zero)
    #expect(shares.all.count == 0)
  }
}
