import Redis
import Testing

/// Answers of scripts that are not what the caller expects.
struct ScriptAnswerTests {
  @Test func `behind its end an answer is null`() {
    let reply: [RESPValue] = [.text("taken")]
    #expect(reply[at: 0] == .text("taken"))
    #expect(reply[at: 1] == .null && reply[at: -1] == .null && [RESPValue]()[at: 0] == .null)
  }

  @Test(arguments: [
    (Int64.min, Duration.milliseconds(1)), (0, .milliseconds(1)), (1500, .milliseconds(1500)),
    (.max, .seconds(86_400)),
  ])
  func `a wait ends within a day`(milliseconds: Int64, wait: Duration) {
    #expect(RESPValue.integer(milliseconds).wait() == wait)
  }

  @Test func `a wait is a number`() {
    #expect(RESPValue.text("250").wait() == .milliseconds(250))
    #expect(RESPValue.integer(-1).wait(atLeast: .zero) == .zero)
    for value: RESPValue in [.null, .text("soon"), .array([.integer(1)]), .error("ERR")] {
      #expect(value.wait() == nil)
    }
  }
}
