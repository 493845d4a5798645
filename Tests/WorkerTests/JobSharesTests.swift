import Domain
import Testing

@testable import Worker

/// How a worker's places are shared out, by value.
struct JobSharesTests {
  /// Takes places for as many jobs as may have one.
  private func fill(
    _ shares: inout JobShares, _ publisher: Int64, _ lane: JobLane = .usual, at now: Duration = .zero
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
    #expect(shares.free == 66)
  }

  @Test func `however many publishers fill the worker, the next one gets a place`() {
    var shares = JobShares(concurrency: 200)
    let counts = (1...10).map { fill(&shares, $0) }
    #expect(counts == [200, 50, 12, 3, 1, 0, 0, 0, 0, 0])
    // Once the first ones give some back, all come closer to each other.
    for _ in 0..<100 { shares.end(1, .usual, takenAt: .zero) }
    #expect((1...10).map { fill(&shares, $0) }.reduce(0, +) == 100)
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

  @Test func `bulk gets a tenth of the places`() {
    var shares = JobShares(concurrency: 200)
    #expect(fill(&shares, 1, .bulk) == 20)
    #expect(!shares.hasBulkPlaces)
    #expect(shares.ask(2, .bulk, at: .zero) == .goesAway)
    #expect(shares.ask(1, .usual, at: .zero) == .takes)
    shares.end(1, .bulk, takenAt: .zero)
    #expect(shares.hasBulkPlaces)
    #expect(fill(&shares, 2, .bulk) == 1)
  }

  @Test func `the full publishers are those that may have no more`() {
    var shares = JobShares(concurrency: 8)
    for _ in 0..<6 { shares.hold(1, .usual, at: .zero) }
    shares.hold(2, .usual, at: .zero)
    #expect(shares.free == 3)
    #expect(shares.full(ifFree: 3) == [])
    #expect(shares.full(ifFree: 2) == [1])
    #expect(shares.full(ifFree: 0).sorted() == [1, 2])
  }

  @Test func `an end without a beginning changes nothing`() {
    var shares = JobShares(concurrency: 8)
    shares.end(1, .usual, takenAt: .zero)
    #expect(shares.count == 0)
  }
}
