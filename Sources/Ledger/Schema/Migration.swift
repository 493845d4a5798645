public import EventLoop
public import Postgres

/// Brings the schema of a database up to the steps of this build.
///
/// Each step is one transaction, in which its row comes first. Any number of migrations may run at once: an advisory
/// lock lets one of them apply a step while the others ask again and again. None waits in PostgreSQL for it, because
/// a statement that waits keeps others from creating indexes.
@LoopActor
public final class Migration {
  private let postgres: PostgresClient
  private let steps: [SchemaStep]
  private let patience: Duration
  private let tell: @LoopActor (String) -> Void

  /// Any number that no other program uses in this database.
  private static let lock = PostgresQuery(
    PostgresStatement("schema.lock", "SELECT pg_try_advisory_xact_lock($1) AS is_locked"),
    [.int64(0x636F_756E_7465_7273)])

  private enum Step { case applied, busy }

  /// Creates a migration over a started client.
  ///
  /// - Parameters:
  ///   - patience: how long it tries a step again that a lock or a lost connection has stopped.
  ///   - tell: takes a line for each step, and for each reason to wait.
  public init(
    _ postgres: PostgresClient, steps: [SchemaStep] = SchemaStep.all, patience: Duration = .seconds(300),
    tell: @escaping @LoopActor (String) -> Void
  ) {
    self.postgres = postgres
    self.steps = steps
    self.patience = patience
    self.tell = tell
  }

  /// Applies every missing step.
  ///
  /// - Throws: ``SchemaMismatch`` for a schema that this build must not touch; `PostgresError`, at once for a refused
  ///   account.
  public func run() async throws {
    var backoff = Backoff()
    var deadline = ContinuousClock.now + patience
    var lastReason = ""
    while true {
      do {
        let state = SchemaState.judge(applied: try await AppliedSteps.read(postgres.run), known: steps)
        switch state {
        case .ready: return tell("the schema has every step of this build")
        case .incompatible: throw SchemaMismatch(state: state)
        case .behind(let missing):
          guard let step = steps.first(where: { $0.number == missing[0].number }) else { continue }
          if try await apply(step) == .applied {
            tell("step \(missing[0]) applied")
            (backoff, deadline) = (Backoff(), .now + patience)
            continue
          }
          if lastReason.isEmpty { tell("waiting for another migration") }
          lastReason = "busy"
        }
      } catch let error as PostgresError {
        // A refused account stays refused until a person mends it.
        guard error.advice != .ourMistake, !error.isRefusal, ContinuousClock.now < deadline else { throw error }
        if "\(error)" != lastReason { tell("trying again: \(error)") }
        lastReason = "\(error)"
      }
      try await EventLoop.sleep(for: backoff.next())
    }
  }

  /// Applies a step, unless another migration has the lock. If that one has just applied the step, so much the better.
  private func apply(_ step: SchemaStep) async throws -> Step {
    try await postgres.transaction { transaction in
      guard try await transaction.query(Self.lock).first?.bool("is_locked") == true else { return .busy }
      _ = try await transaction.query(AppliedSteps.create)
      let applied = try await AppliedSteps.read { try await transaction.query($0) }
      guard !applied.contains(where: { $0.number == step.number }) else { return .busy }
      _ = try await transaction.query(AppliedSteps.insert(step))
      for (index, sql) in SQLScript.statements(step.sql).enumerated() {
        _ = try await transaction.query(
          PostgresQuery(PostgresStatement("schema.step\(step.number).\(index + 1)", sql)))
      }
      return .applied
    }
  }
}
