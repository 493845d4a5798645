import Testing

@testable import Observability

/// Who has a number of its own among very many.
struct BusiestCountsTests {
  private func counts(_ names: some Sequence<Int64>, _ times: Int = 1) -> BusiestCounts {
    var counts = BusiestCounts()
    for name in names { for _ in 0..<times { counts.count(name) } }
    return counts
  }

  @Test func `the first ones have numbers at once, and the rest one together`() {
    let counts = counts(1...30, 2)
    #expect(counts.counts == Dictionary(uniqueKeysWithValues: (1...20).map { ($0, 2) }))
    #expect(counts.others == 20)
  }

  @Test func `whoever is busy takes the place of the least busy`() {
    var counts = counts(1...20)
    for _ in 0..<100 { counts.count(7) }
    while counts.others < BusiestCounts.window - 120 { counts.count(99) }
    // The least among names that came equally rarely.
    #expect(counts.counts[99] == 0 && counts.counts[1] == nil)
    #expect(counts.counts[7] == 101 && counts.counts[2] == 1)
    counts.count(99)
    #expect(counts.counts[99] == 1 && counts.counts.count == BusiestCounts.most)
  }

  @Test func `somebody who is hardly busier changes nothing`() {
    var counts = BusiestCounts()
    for round in 0..<300 {
      for name: Int64 in 1...20 { counts.count(name) }
      for _ in 0...round % 2 { counts.count(99) }
    }
    #expect(counts.counts == Dictionary(uniqueKeysWithValues: (1...20).map { ($0, 300) }))
    #expect(counts.others == 450)
  }

  @Test func `very many names take a bounded place`() {
    let counts = counts(1...100_000)
    #expect(counts.counts.count == BusiestCounts.most)
    #expect(counts.others + counts.counts.values.reduce(0, +) <= 100_000)
  }
}
