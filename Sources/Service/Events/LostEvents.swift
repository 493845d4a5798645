public import AMQP
import Domain
public import EventLoop
import Messaging
import Observability

/// Publishes the events again that the broker may have lost together with the connection that publishes.
///
/// The fleet's own queue gets them again. The subscribers' connections see to theirs.
@LoopActor
public final class LostEvents: RoleService {
  /// What the broker has confirmed last.
  public let recent = RecentEvents()
  private let broker: any MessageBroker
  private let queue: @LoopActor (Event) -> String
  private let log: Log
  private let running = RunningTasks()

  /// - Parameter queue: the fleet's own for an event.
  init(_ broker: any MessageBroker, queue: @escaping @LoopActor (Event) -> String, _ log: Log) {
    (self.broker, self.queue, self.log) = (broker, queue, log)
  }

  /// Takes a change of the connection that publishes, which has happened at a moment.
  public func note(_ change: AMQPSession.Change, at moment: ContinuousClock.Instant = .now) {
    guard case .lost = change else { return }
    let events = recent.take(at: moment)
    guard !events.isEmpty else { return }
    log.info("publishing the last confirmed events again", ["events": .int(Int64(events.count))])
    for event in events { running.start { [self] in await tellAgain(event) } }
  }

  /// Publishes an event until the broker confirms it.
  func tellAgain(_ event: Event) async {
    do {
      try await broker.publishSurely(EventMessage.message(event, queue: queue(event)))
      recent.add(event)
    } catch {
      log.error("an event could not be published again", ["eventId": .string(event.id.text), "cause": .failure(error)])
    }
  }

  /// Does nothing: the connection says when events may be lost.
  public func start() {}

  /// Does nothing: a connection may be lost until its end.
  public func close() {}

  public func stop(within grace: Duration) async { await running.finish(within: grace) }
}
