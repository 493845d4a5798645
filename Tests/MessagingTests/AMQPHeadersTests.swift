import AMQP
import Messaging
import Testing

/// Numbers in headers, which whoever may publish can write.
struct AMQPHeadersTests {
  private static let hostile: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max]

  @Test(arguments: [
    (Int64.min, 1), (-1, 1), (0, 1), (1, 1), (2, 2), (1_000_000, 1_000_000), (1_000_001, 1_000_000),
    (.max, 1_000_000),
  ])
  func `a count is from its least to a million`(number: Int64, count: Int) {
    let headers: [String: AMQPValue] = ["n": .int(number)]
    #expect(headers.count("n", least: 1) == count)
  }

  @Test func `without a number, a count is its least, and there is no time`() {
    for headers: [String: AMQPValue] in [[:], ["n": "7"], ["n": true], ["n": .other]] {
      #expect(headers.count("n") == 0 && headers.count("n", least: 1) == 1)
      #expect(headers.time("n") == nil && headers.milliseconds("n") == 0)
    }
  }

  @Test(arguments: hostile) func `a sum with a time or a span is no overflow`(number: Int64) {
    let headers: [String: AMQPValue] = ["n": .int(number)]
    #expect((0...253_402_300_799_999).contains(headers.time("n") ?? -1))
    #expect((0...31_536_000_000).contains(headers.milliseconds("n")))
  }

  @Test func `usual numbers stay as they are`() {
    let headers: [String: AMQPValue] = ["n": 1_790_000_000_000, "span": 86_400_000]
    #expect(headers.time("n") == 1_790_000_000_000)
    #expect(headers.milliseconds("span") == 86_400_000)
  }
}
