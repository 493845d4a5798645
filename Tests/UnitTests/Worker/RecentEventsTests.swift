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

  @Test func `what was confirmed within the last ten seconds is told again, once`() {
    let (events, start) = (RecentEvents(), ContinuousClock.now)
    for number in 0..<30 { events.add(message("\(number)"), at: start + .seconds(number)) }
    let taken = events.take(at: start + .milliseconds(30_500)).map(\.messageID)
    #expect(taken == (21..<30).map { "\($0)" })
    #expect(events.take(at: start + .milliseconds(30_501)).isEmpty)
    events.add(message("late"), at: start + .seconds(40))
    #expect(events.take(at: start + .seconds(51)).isEmpty)
  }

  @Test func `of many only the last are kept`() {
    let (events, now) = (RecentEvents(), ContinuousClock.now)
    for number in 0..<10_000 { events.add(message("\(number)"), at: now) }
    #expect(events.take(at: now).map(\.messageID) == (10_000 - RecentEvents.most..<10_000).map { "\($0)" })
  }
}
