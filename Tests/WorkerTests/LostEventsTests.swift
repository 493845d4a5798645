import AMQP
import Domain
import EventLoop
import Observability
import Testing

@testable import Service
@testable import Worker

/// The events that a broker may have lost together with a connection.
@LoopActor
struct LostEventsTests {
  private let broker = BrokerByValue()
  private let lost: LostEvents
  /// A moment before all confirms: they are recent however late a test looks.
  private let moment = ContinuousClock.now

  init() { lost = LostEvents(broker, queue: { "own.\($0.id)" }, Log(level: .error)) }

  private func confirm(_ ids: [EventId]) {
    for id in ids {
      lost.recent.add(Event(id: id, publisherId: 1, customerId: "7", topic: "t", time: 1, body: []))
    }
  }

  @Test func `what was confirmed last is published again when the connection is lost, once`() async {
    confirm(["a", "b"])
    lost.note(.lost(BrokerByValue.noConfirm, retryIn: .seconds(1)), at: moment)
    await lost.stop(within: .seconds(60))
    #expect(Set(broker.queues) == ["own.a", "own.b"] && broker.messages.count == 2)
    // The new connection may be lost, too: both are confirmed again, and so they are recent again.
    #expect(Set(lost.recent.take(at: moment).map(\.id)) == ["a", "b"])
  }

  @Test func `a change that loses nothing publishes nothing`() async {
    confirm(["a"])
    for change in [AMQPSession.Change.connected, .blocked(true), .blocked(false), .reopening(BrokerByValue.noConfirm)] {
      lost.note(change, at: moment)
    }
    await lost.stop(within: .seconds(60))
    #expect(broker.messages.isEmpty && lost.recent.take(at: moment).count == 1)
  }

  @Test func `without recent events a lost connection publishes nothing`() async {
    lost.note(.lost(BrokerByValue.noConfirm, retryIn: .seconds(1)), at: moment)
    await lost.stop(within: .seconds(60))
    #expect(broker.messages.isEmpty)
  }

  @Test func `an event that the broker refuses is not taken for a recent one`() async {
    broker.failure = BrokerByValue.noConfirm
    confirm(["a"])
    lost.note(.lost(BrokerByValue.noConfirm, retryIn: .seconds(1)), at: moment)
    await lost.stop(within: .seconds(60))
    #expect(broker.messages.isEmpty && lost.recent.take(at: moment).isEmpty)
  }
}
