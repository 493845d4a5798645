import Domain
import EventLoop
import Service
import Testing

/// The events that a worker publishes again after a lost connection.
@LoopActor
struct RecentEventsTests {
  private func event(_ id: SynchronizationId) -> Event {
    let synchronization = Synchronization(
      id: id, publisherId: 1, customerId: "2", transactionId: "3", status: .finalized,
      result: SynchronizationResult(.internalError, accessGranted: false), version: 4, finalizedAt: 5, traceparent: nil)
    return Event(of: synchronization)!
  }

  @Test func `what was confirmed within the last ten seconds is told again, once`() {
    let (events, start) = (RecentEvents(), ContinuousClock.now)
    for number in 0..<30 { events.add(event("\(number)"), at: start + .seconds(number)) }
    let taken = events.take(at: start + .milliseconds(30_500)).map(\.id)
    #expect(taken == (21..<30).map { event("\($0)").id })
    #expect(events.take(at: start + .milliseconds(30_501)).isEmpty)
    events.add(event("late"), at: start + .seconds(40))
    #expect(events.take(at: start + .seconds(51)).isEmpty)
  }

  @Test func `of many only the last are kept`() {
    let (events, now) = (RecentEvents(), ContinuousClock.now)
    for number in 0..<10_000 { events.add(event("\(number)"), at: now) }
    #expect(events.take(at: now).map(\.id) == (10_000 - RecentEvents.most..<10_000).map { event("\($0)").id })
  }
}
