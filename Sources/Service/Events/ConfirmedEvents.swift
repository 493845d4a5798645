public import Domain
public import EventLoop
import Ledger
import Observability
public import Postgres

/// Takes the events that the broker has confirmed out of the outbox, in a role that makes no commits of its own. A
/// worker's commits do it by the way.
///
/// An event that stays in the outbox does no harm: a worker publishes it once more.
@LoopActor
public final class ConfirmedEvents: RoleService {
  private let remove: @LoopActor ([EventId]) async throws -> Void
  private let log: Log
  private var ids: [EventId] = []
  private let running = RunningTasks()
  private lazy var removeLater = EndOfTurn { [weak self] in self?.removeAll() }

  /// Creates it over the role's ledger.
  public convenience init(_ context: RoleContext, _ postgres: PostgresClient) {
    self.init(context.log) { _ = try await postgres.run(Event.confirmed($0)) }
  }

  /// - Parameter remove: takes events out of the outbox.
  init(_ log: Log, remove: @escaping @LoopActor ([EventId]) async throws -> Void) {
    (self.log, self.remove) = (log, remove)
  }

  /// Takes an event out of the outbox, together with the others of this turn.
  public func add(_ id: EventId) {
    ids.append(id)
    removeLater.plan()
  }

  /// Does nothing: the confirms come from the broker.
  public func start() {}

  /// Does nothing: confirms come until the connection that publishes is closed.
  public func close() {}

  public func stop(within grace: Duration) async {
    removeAll()
    await running.finish(within: grace)
  }

  private func removeAll() {
    guard !ids.isEmpty else { return }
    let some = ids
    ids.removeAll()
    running.start { [remove, log] in
      do {
        try await remove(some)
      } catch {
        log.warning(
          "events stay in the outbox",
          ["eventId": .string(some[0].text), "events": .int(Int64(some.count)), "cause": .failure(error)])
      }
    }
  }
}
