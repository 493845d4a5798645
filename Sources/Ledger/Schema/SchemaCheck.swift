public import EventLoop
public import Postgres

/// Finds out, at the start of a role, whether this build can work with the ledger's schema.
@LoopActor
public struct SchemaCheck {
  private let postgres: PostgresClient
  private let steps: [SchemaStep]

  /// Creates a check over a started client.
  public init(_ postgres: PostgresClient, steps: [SchemaStep] = SchemaStep.all) {
    self.postgres = postgres
    self.steps = steps
  }

  /// Reads the schema and compares it.
  ///
  /// - Throws: `PostgresError` while PostgreSQL does not answer.
  public func state() async throws -> SchemaState {
    SchemaState.judge(applied: try await AppliedSteps.read(postgres.run), known: steps)
  }

  /// Returns once the schema fits. While PostgreSQL is away, it waits: the role is not ready, and does not end.
  ///
  /// - Parameter patience: how long it waits; `nil` means until the task is cancelled.
  /// - Throws: ``SchemaMismatch`` if the role must end; `PostgresError` if PostgreSQL refuses the question itself, or
  ///   has not answered in time; `CancellationError`.
  public func pass(within patience: Duration? = nil) async throws {
    var backoff = Backoff()
    let deadline = patience.map { ContinuousClock.now + $0 }
    while true {
      do {
        let state = try await state()
        guard state == .ready else { throw SchemaMismatch(state: state) }
        return
      } catch let error as PostgresError where error.advice != .ourMistake {
        // With a limit somebody waits at a terminal, and a refused account stays refused until a person mends it.
        if let deadline, error.isRefusal || deadline < .now { throw error }
        try await EventLoop.sleep(for: backoff.next())
      }
    }
  }
}
