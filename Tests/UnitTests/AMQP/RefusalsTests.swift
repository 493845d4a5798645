import Testing

@testable import AMQP

/// When a channel is opened anew because the broker refuses everything.
struct RefusalsTests {
  /// The broker's answers, each with its second; returns the seconds at which the channel is opened anew.
  private func openings(_ answers: [(isRefused: Bool, target: String, second: Double)]) -> [Double] {
    let start = ContinuousClock.now
    var refusals = Refusals()
    return answers.filter { refusals.note(isRefused: $0.isRefused, $0.target, at: start + .seconds($0.second)) }
      .map(\.second)
  }

  @Test func `refusals for some seconds, and not a single one`() {
    #expect(openings([(true, "a", 0), (true, "a", 2.9)]) == [])
    // The new channel has its time, too.
    #expect(openings([(true, "a", 0), (true, "a", 3), (true, "a", 3.1)]) == [3])
  }

  @Test func `a confirm for the same queue ends them, and one for another queue does not`() {
    let answers = [(true, "a", 0), (false, "a", 1), (true, "a", 3), (false, "b", 5), (true, "a", 5.9), (true, "a", 6)]
    #expect(openings(answers) == [6])
  }

  @Test func `a full queue costs a new channel each half minute`() {
    #expect(openings((0..<100).map { (true, "a", Double($0)) }) == [3, 33, 63, 93])
  }

  @Test func `what a message's refusal is about`() {
    let job = AMQPMessage(exchange: "", routingKey: "cs.jobs", messageID: "1", body: [])
    let event = AMQPMessage(exchange: "cs.events", routingKey: "t.1", messageID: "1", body: [])
    #expect([job.target, event.target] == ["queue cs.jobs", "exchange cs.events"])
  }
}
