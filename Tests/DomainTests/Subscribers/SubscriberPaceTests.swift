import Domain
import Testing

/// How fast a subscriber gets its events.
struct SubscriberPaceTests {
  private let start = ContinuousClock.now

  private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

  /// Publishes events, and lets the broker answer them.
  private func publish(_ count: Int, _ answer: SubscriberPace.Answer, _ pace: inout SubscriberPace, at seconds: Double)
  {
    for _ in 0..<count { pace.begin() }
    for _ in 0..<count { pace.end(answer, at: at(seconds)) }
  }

  @Test func `the window is bounded, and each answer makes room`() {
    var pace = SubscriberPace()
    for _ in 0..<SubscriberPace.window {
      #expect(pace.mayPublish(at: start))
      pace.begin()
    }
    #expect(!pace.mayPublish(at: start))
    pace.end(.confirmed, at: start)
    #expect(pace.mayPublish(at: start))
    #expect(pace.underWay == SubscriberPace.window - 1)
  }

  @Test func `a queue that refuses does not keep new events from the others behind the exchange`() {
    var pace = SubscriberPace()
    publish(50, .refused, &pace, at: 0)
    #expect(pace.mayPublish(at: at(0)))
    #expect(pace.retries(at: at(0)) > 1)
  }

  @Test func `without an answer, one event at a time is tried with growing pauses`() {
    var pace = SubscriberPace()
    // Those that were under way are one silence.
    publish(100, .none, &pace, at: 4)
    #expect(!pace.mayPublish(at: at(4.9)))
    #expect(pace.retries(at: at(4.9)) == 0)
    #expect(pace.mayPublish(at: at(5)))
    #expect(pace.retries(at: at(5)) == 1)
    pace.begin()
    #expect(!pace.mayPublish(at: at(5)))
    pace.end(.none, at: at(9))
    #expect(!pace.mayPublish(at: at(10.9)))
    #expect(pace.mayPublish(at: at(11)))
    for round in 0..<20 { publish(1, .none, &pace, at: 100 + Double(round) * 40) }
    #expect(!pace.mayPublish(at: at(889)))
    #expect(pace.mayPublish(at: at(890)))
  }

  @Test(arguments: [SubscriberPace.Answer.confirmed, .refused])
  func `any answer ends the silence`(_ answer: SubscriberPace.Answer) {
    var pace = SubscriberPace()
    publish(1, .none, &pace, at: 0)
    pace.begin()
    pace.end(answer, at: at(1))
    #expect(pace.retries(at: at(1)) > 1)
    publish(1, .none, &pace, at: 10)
    #expect(pace.mayPublish(at: at(11)))
  }

  @Test func `a new connection ends every pause`() {
    var pace = SubscriberPace()
    publish(1, .none, &pace, at: 0)
    pace.endRetry(confirmed: 0, at: at(0))
    pace.connected(at: at(0))
    #expect(pace.mayPublish(at: at(0)))
    #expect(pace.retries(at: at(0)) == 1)
  }

  @Test func `for a minute after a connection a queue is expected, until one takes an event`() {
    var pace = SubscriberPace()
    #expect(!pace.expectsQueue(at: at(0)))
    pace.connected(at: at(0))
    publish(3, .unrouted, &pace, at: 1)
    publish(3, .refused, &pace, at: 1)
    #expect(pace.expectsQueue(at: at(59.9)))
    #expect(!pace.expectsQueue(at: at(60)))
    publish(1, .confirmed, &pace, at: 2)
    #expect(!pace.expectsQueue(at: at(2)))
    pace.connected(at: at(3))
    #expect(pace.expectsQueue(at: at(3)))
  }

  @Test func `a retry that brings nothing makes the next one small and late, and success makes it large again`() {
    var pace = SubscriberPace()
    #expect(pace.retries(at: start) == SubscriberPace.mostAgain)
    pace.endRetry(confirmed: 0, at: at(0))
    #expect(pace.retries(at: at(0.9)) == 0)
    #expect(pace.retries(at: at(1)) == 1)
    pace.endRetry(confirmed: 0, at: at(1))
    #expect(pace.retries(at: at(2.9)) == 0)
    #expect(pace.retries(at: at(3)) == 1)
    for _ in 0..<20 { pace.endRetry(confirmed: 0, at: at(100)) }
    #expect(pace.retries(at: at(159.9)) == 0)
    #expect(pace.retries(at: at(160)) == 1)
    for expected in [4, 16, 64, 256, 500, 500] {
      pace.endRetry(confirmed: 1, at: at(160))
      #expect(pace.retries(at: at(160)) == expected)
    }
  }

  @Test func `a single event that is never taken waits longer and longer`() {
    let pauses = [0, 1, 2, 3, 4, 5, 6, 100].map { SubscriberPace.pause(afterTries: $0) }
    #expect(pauses == [5, 5, 10, 20, 40, 80, 120, 120].map { .seconds($0) })
  }

  @Test func `an event that no queue is bound for is owed for some minutes`() {
    let waited = (1...8).map { SubscriberPace.pause(afterTries: $0) }.reduce(.zero, +)
    #expect(waited > .seconds(300))
    #expect([1, 7, 8, 9].map { SubscriberPace.isUnwanted(afterTries: $0) } == [false, false, true, true])
  }

  @Test(arguments: [
    ("billing", true), ("a", true), ("eu-west-1", true), ("", false), ("shared", false), ("Billing", false),
    ("a.b", false), ("a b", false), ("ä", false), (String(repeating: "a", count: 65), false),
  ])
  func `the name of a subscriber`(_ name: String, isName: Bool) { #expect(EventSubscriber.isName(name) == isName) }
}
