import Formats
import Testing

/// Sums and differences of numbers that come from outside.
struct SaturatingTests {
  @Test(arguments: [
    (Int64.max, 1 as Int64, Int64.max), (.max, .max, .max), (.min, -1, .min), (.min, .min, .min), (.max, .min, -1),
    (2, -5, -3),
  ])
  func sum(one: Int64, other: Int64, sum: Int64) { #expect(one.adding(other) == sum) }

  @Test(arguments: [
    (Int64.min, 1 as Int64, Int64.min), (.min, .max, .min), (.max, -1, .max), (0, .min, .max), (.min, .min, 0),
    (2, 5, -3),
  ])
  func difference(one: Int64, other: Int64, difference: Int64) { #expect(one.subtracting(other) == difference) }

  @Test func `a time is one that RFC 3339 can write`() {
    for time: Int64 in [0, 1_790_000_000_000, 253_402_300_799_999] { #expect(time.isTime) }
    for time in [Int64.min, -1, 253_402_300_800_000, .max] { #expect(!time.isTime) }
  }
}
