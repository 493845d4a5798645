import Testing

@testable import AMQP

/// When a channel is opened anew because the broker refuses everything.
struct RefusalsTests {
  private let start = ContinuousClock.now

  private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

  @Test func `refusals for some seconds, and not a single one`() {
    var refusals = Refusals()
    #expect(!refusals.note(isRefused: true, "a", at: at(0)))
    #expect(!refusals.note(isRefused: true, "a", at: at(2.9)))
    #expect(refusals.note(isRefused: true, "a", at: at(3)))
    // The new channel has its time, too.
    #expect(!refusals.note(isRefused: true, "a", at: at(3)))
  }

  @Test func `a confirm for the same queue ends them, and one for another queue does not`() {
    var refusals = Refusals()
    _ = refusals.note(isRefused: true, "a", at: at(0))
    #expect(!refusals.note(isRefused: false, "a", at: at(1)))
    #expect(!refusals.note(isRefused: true, "a", at: at(3)))
    #expect(!refusals.note(isRefused: false, "b", at: at(5)))
    #expect(refusals.note(isRefused: true, "a", at: at(6)))
  }

  @Test func `a full queue costs a new channel each half minute`() {
    var refusals = Refusals()
    let openings = (0..<100).filter { refusals.note(isRefused: true, "a", at: at(Double($0))) }
    #expect(openings == [3, 33, 63, 93])
  }

  @Test func `what a message's refusal is about`() {
    let job = AMQPMessage(exchange: "", routingKey: "cs.jobs", messageID: "1", body: [])
    let event = AMQPMessage(exchange: "cs.events", routingKey: "t.1", messageID: "1", body: [])
    #expect([job.target, event.target] == ["queue cs.jobs", "exchange cs.events"])
  }
}
