import Testing

@testable import Gateway

/// What a request takes of a credential's reads a second.
struct RequestCostTests {
  @Test func `a usual read takes one of them`() {
    #expect(RequestCost(1, perSecond: 1000).perSecond == 1000)
    // A gateway counts a tenth of the rate by itself: a hundred a second.
    #expect(RequestCost(1, perSecond: 1000).ownTime == .milliseconds(10))
  }

  @Test func `a request that costs a hundred may be sent a hundredth as often`() {
    #expect(RequestCost(100, perSecond: 1000).perSecond == 10)
    #expect(RequestCost(100, perSecond: 1000).ownTime == .seconds(1))
    #expect(RequestCost(200, perSecond: 1000).perSecond == 5)
  }

  @Test func `the dearest request may be sent once a second`() {
    for (reads, rate) in [(200, 200), (200, 199), (200, 1), (.max, 1000), (1, 0), (1, -1)] {
      #expect(RequestCost(reads, perSecond: rate).perSecond == 1, "\(reads) of \(rate)")
    }
    #expect(RequestCost(0, perSecond: 5) == RequestCost(1, perSecond: 5))
  }
}
