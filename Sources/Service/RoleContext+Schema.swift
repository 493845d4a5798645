import EventLoop
import Glibc
import Ledger
import Observability
public import Postgres

extension RoleContext {
  /// How long a role's start waits for the ledger before it goes on without.
  private static let patience: Duration = .seconds(3)

  /// Checks the ledger's schema at the start of a role.
  ///
  /// While the ledger is away, the role starts all the same, and the check goes on behind it. If the schema does not
  /// fit then, the process ends.
  ///
  /// - Parameter whenReady: called once the schema fits.
  /// - Throws: `SchemaMismatch`: the role must not run on this schema; `PostgresError` if PostgreSQL refuses the
  ///   question.
  public func checkSchema(_ ledger: PostgresClient, whenReady: @escaping @LoopActor () -> Void = {}) async throws {
    do {
      try await SchemaCheck(ledger).pass(within: Self.patience)
      whenReady()
    } catch let error as PostgresError where error.advice != .ourMistake {
      log.warning("starting without the ledger", ["cause": .failure(error)])
      Task { @LoopActor in
        do {
          try await SchemaCheck(ledger).pass()
          whenReady()
        } catch let error as SchemaMismatch {
          log.error("the ledger's schema does not fit", ["cause": .failure(error)])
          exit(1)
        } catch {
          log.error("the ledger's schema could not be read", ["cause": .failure(error)])
          exit(1)
        }
      }
    }
  }
}
