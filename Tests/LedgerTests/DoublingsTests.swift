import Testing

@testable import Ledger

/// When a process looks for tables that have grown.
struct DoublingsTests {
  @Test func `it tells the first number, and then each doubling once`() {
    var doublings = Doublings(from: 250)
    let told = (1...5_000).filter { _ in doublings.add(1) }
    #expect(told == [250, 500, 1_000, 2_000, 4_000])
  }

  @Test func `a leap over several doublings is told once`() {
    var doublings = Doublings(from: 250)
    #expect([0, 1_100, 899, 1].map { doublings.add($0) } == [false, true, false, true])
  }
}
