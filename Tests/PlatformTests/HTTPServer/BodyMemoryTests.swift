import Testing

@testable import HTTPServer

/// How the array of a body grows.
struct BodyMemoryTests {
  /// With its type: the compiler looks for one in a table of sums and shifts for seconds.
  private static let cases: [(needed: Int, most: Int, capacity: Int)] = [
    (1000, 3 << 20, 2000), (65_536, 3 << 20, 131_072), (100_000, 3 << 20, 165_536),
    (1 << 20, 3 << 20, 5 << 18), (2_000_000, 3 << 20, 2_500_000), (3 << 20, 3 << 20, 3 << 20),
    // What is known to be enough is the most.
    (16_000, 20_000, 20_000), (2_900_000, 2_900_001, 2_900_001), (10, 10, 10),
    // A body that is longer than it says never gets here, and would have what it needs.
    (30, 10, 30), (30, 0, 30),
  ]

  @Test(arguments: cases)
  func `a body's memory grows by a quarter`(needed: Int, most: Int, capacity: Int) {
    #expect(Exchange.capacity(for: needed, most: most) == capacity)
  }

  @Test func `a length that is told bounds a body`() {
    func most(_ fields: [(name: String, value: String)]) -> Int { BodyFraming(fields).length(upTo: 100) }
    #expect(most([("Content-Length", "99")]) == 99)
    #expect(most([("Content-Length", "18446744073709551616")]) == 100)
    #expect(most([("Transfer-Encoding", "chunked")]) == 100)
    #expect(BodyFraming([("Content-Length", "1")]).length(upTo: -1) == 0)
  }
}
