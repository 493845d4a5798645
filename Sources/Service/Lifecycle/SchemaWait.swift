public import EventLoop
import Glibc
import Ledger
public import Observability
public import Postgres

/// Checks the ledger's schema at the start of a role.
///
/// While the ledger is away, the role starts all the same, and the check goes on behind it. If the schema does not fit
/// then, the process ends.
@LoopActor
public final class SchemaWait: RoleService {
  private let postgres: PostgresClient
  private let log: Log
  private let whenReady: @LoopActor () -> Void
  private var phase = ServicePhase.new
  private var waiting: Task<Void, any Error>?

  /// How long a role's start waits for the ledger before it goes on without.
  private static let patience: Duration = .seconds(3)

  /// - Parameter whenReady: called once the schema fits.
  public init(_ postgres: PostgresClient, _ log: Log, whenReady: @escaping @LoopActor () -> Void = {}) {
    (self.postgres, self.log, self.whenReady) = (postgres, log, whenReady)
  }

  /// Returns when the schema fits, or when the role must go on without the ledger.
  ///
  /// - Throws: `SchemaMismatch`: the role must not run on this schema; `PostgresError` if PostgreSQL refuses the
  ///   question.
  public func start() async throws {
    guard phase.start() else { return }
    let first = Task { @LoopActor [postgres] in try await SchemaCheck(postgres).pass(within: Self.patience) }
    waiting = first
    do {
      try await first.value
      whenReady()
    } catch is CancellationError {
      // The role stops while it starts.
    } catch let error as PostgresError where error.advice != .ourMistake {
      log.warning("starting without the ledger", ["cause": .failure(error)])
      if phase == .running { goOn() }
    }
  }

  private func goOn() {
    waiting = Task { @LoopActor [postgres, log, whenReady] in
      do {
        try await SchemaCheck(postgres).pass()
        whenReady()
      } catch is CancellationError {
        // The role stops.
      } catch let error as SchemaMismatch {
        log.error("the ledger's schema does not fit", ["cause": .failure(error)])
        exit(1)
      } catch {
        log.error("the ledger's schema could not be read", ["cause": .failure(error)])
        exit(1)
      }
    }
  }

  /// Does nothing: it takes no work by itself.
  public func close() {}

  public func stop(within grace: Duration) async { if phase.stop() { waiting?.cancel() } }
}
