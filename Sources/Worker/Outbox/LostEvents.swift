import AMQP
import Domain
import EventLoop
import Observability
import Service

/// Publishes the events again that the broker may have lost together with the connection.
@LoopActor
final class LostEvents: RoleService {
  private let recent: RecentEvents
  private let tellAgain: @LoopActor (Event) async -> Void
  private let log: Log
  private let running = RunningTasks()

  /// - Parameter tellAgain: publishes an event until the broker confirms it.
  init(_ recent: RecentEvents, _ log: Log, tellAgain: @escaping @LoopActor (Event) async -> Void) {
    (self.recent, self.log, self.tellAgain) = (recent, log, tellAgain)
  }

  /// Takes a change of the connection that publishes.
  func note(_ change: AMQPSession.Change) {
    guard case .lost = change else { return }
    let events = recent.take()
    guard !events.isEmpty else { return }
    log.info("telling again what was confirmed last", ["events": .int(Int64(events.count))])
    for event in events { running.start { [tellAgain] in await tellAgain(event) } }
  }

  /// Does nothing: the connection says when events may be lost.
  func start() {}

  /// Does nothing: a connection may be lost until its end.
  func close() {}

  func stop(within grace: Duration) async { await running.finish(within: grace) }
}
