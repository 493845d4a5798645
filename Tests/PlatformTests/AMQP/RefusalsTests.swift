import Testing

@testable import AMQP

/// When a connection is opened anew because a queue takes nothing.
struct RefusalsTests {
  /// What became of messages, each with its second; returns the seconds at which the connection is opened anew.
  private func openings(_ answers: [(isTaken: Bool, target: String, second: Double)]) -> [Double] {
    let start = ContinuousClock.now
    var refusals = Refusals()
    return answers.filter { refusals.note(isTaken: $0.isTaken, $0.target, at: start + .seconds($0.second)) }
      .map(\.second)
  }

  @Test func `refusals for some seconds, and not a single one`() {
    #expect(openings([(false, "a", 0), (false, "a", 2.9)]) == [])
    // The new channel has its time, too.
    #expect(openings([(false, "a", 0), (false, "a", 3), (false, "a", 3.1)]) == [3])
  }

  @Test func `a confirm for the same queue ends them, and one for another queue does not`() {
    let answers = [
      (false, "a", 0), (true, "a", 1), (false, "a", 3), (true, "b", 5), (false, "a", 5.9), (false, "a", 6),
    ]
    #expect(openings(answers) == [6])
  }

  @Test func `a full queue costs a new connection, and ever more seldom`() {
    #expect(openings((0..<300).map { (false, "a", Double($0)) }) == [3, 8, 18, 38, 78, 138, 198, 258])
  }

  @Test func `a queue that takes something begins anew`() {
    let full = (0..<20).map { (false, "a", Double($0)) }
    #expect(openings(full + [(true, "b", 20), (false, "a", 21), (false, "a", 24)]) == [3, 8, 18])
    #expect(openings(full + [(true, "a", 20), (false, "a", 21), (false, "a", 24)]) == [3, 8, 18, 24])
  }

  @Test func `what a message's refusal is about`() {
    let job = AMQPMessage(exchange: "", routingKey: "cs.jobs", messageID: "1", body: [])
    let event = AMQPMessage(exchange: "cs.events", routingKey: "t.1", messageID: "1", body: [])
    #expect([job.target, event.target] == ["queue cs.jobs", "exchange cs.events"])
  }
}
