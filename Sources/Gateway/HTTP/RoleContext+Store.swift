import EventLoop
import Observability
import Postgres
import Service

extension RoleContext {
  /// Calls a store, and logs a failure.
  ///
  /// - Throws: ``Problem``: the failure as the client sees it.
  package func asking<Value: ~Copyable>(_ ask: () async throws -> Value) async throws(Problem) -> Value {
    do {
      return try await ask()
    } catch let problem as Problem {
      throw problem
    } catch let error as PostgresError {
      log.ledgerFailure("ledger failed", error)
      throw .ledger(error)
    } catch {
      log.warning("store failed", ["cause": .failure(error)])
      throw .store(error)
    }
  }
}
