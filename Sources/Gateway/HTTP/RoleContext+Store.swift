import EventLoop
import Ledger
import Observability
import Service

extension RoleContext {
  /// Calls a store, and logs a failure.
  ///
  /// - Throws: ``Problem``: the failure as the client sees it.
  func asking<Value>(_ ask: () async throws -> Value) async throws(Problem) -> Value {
    do {
      return try await ask()
    } catch let problem as Problem {
      throw problem
    } catch is WebhookEndpointStore.Contention {
      throw .unavailable("The endpoint is changed by many at once.")
    } catch {
      log.warning("store failed", ["cause": .failure(error)])
      throw .store(error)
    }
  }
}
