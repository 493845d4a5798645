import AMQP
import EventLoop
import Testing

@testable import Worker

/// What is told again after a connection was lost.
@LoopActor
struct RecentEventsTests {
  private func message(_ id: String) -> AMQPMessage {
    AMQPMessage(exchange: "e", routingKey: "r", messageID: id, body: [])
  }

  @Test func `what was confirmed within the last second is told again, once`() {
    let (events, start) = (RecentEvents(), ContinuousClock.now)
    for number in 0..<30 { events.add(message("\(number)"), at: start + .milliseconds(100 * number)) }
    let taken = events.take(at: start + .milliseconds(3_050)).map(\.messageID)
    #expect(taken == (21..<30).map { "\($0)" })
    #expect(events.take(at: start + .milliseconds(3_051)).isEmpty)
    events.add(message("late"), at: start + .seconds(4))
    #expect(events.take(at: start + .seconds(6)).isEmpty)
  }
}
