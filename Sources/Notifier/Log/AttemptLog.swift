import Configuration
import EventLoop
import Ledger
import Observability
import Service

/// Looks after the partitions of the log of attempts: creates the ones of the next days, and drops old ones.
///
/// Notifiers need not agree who does it: the ledger gives the log to one of them at a time.
@LoopActor
final class AttemptLog: RoleService {
  /// What the looks work with.
  @LoopActor
  struct Dependencies {
    /// Creates and drops partitions; returns how many, and `nil` if another notifier is at it.
    let keep: @LoopActor () async throws -> (created: Int, dropped: Int)?
    /// Whether the ledger can be asked.
    let isReady: @LoopActor () -> Bool
    let log: Log
  }

  private let dependencies: Dependencies
  private var turn = AttemptLogTurn()
  private lazy var looks = Chore(
    every: .seconds(1), after: .milliseconds(100), .dropped,
    isReady: { [weak self] in self.map { $0.turn.isDue(at: .now) && $0.dependencies.isReady() } ?? false },
    look: { [weak self] in await self?.look() })

  init(_ dependencies: Dependencies) { self.dependencies = dependencies }

  func start() { looks.start() }
  func close() { looks.close() }
  func stop(within grace: Duration) async { await looks.stop(within: grace) }

  /// Looks after the log at the next tick: it has no place for today.
  func keepSoon() { turn.hasten() }

  /// Looks once.
  func look() async {
    turn.begin(at: .now)
    do {
      guard let done = try await dependencies.keep(), done != (0, 0) else { return }
      dependencies.log.info(
        "created and dropped partitions of the log of attempts",
        ["created": .int(Int64(done.created)), "dropped": .int(Int64(done.dropped))])
    } catch {
      dependencies.log.warning(
        "partitions of the log of attempts could not be created or dropped", ["cause": .failure(error)])
      turn.fail(at: .now)
    }
  }
}

extension AttemptLog.Dependencies {
  /// Those of a notifier.
  init(_ context: RoleContext, _ deliveries: DeliveryLedger) {
    self.init(
      keep: {
        try await deliveries.keepLog(for: context.settings.notifier.logRetention).map {
          (created: $0.created, dropped: $0.dropped)
        }
      }, isReady: { deliveries.isReady }, log: context.log)
  }
}
