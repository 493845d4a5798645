import EventLoop
import Postgres

extension PostgresClient {
  /// Runs a transaction, and runs it again after a conflict with another one.
  func repeatingConflicts<R>(_ body: @LoopActor (PostgresTransaction) async throws -> R) async throws -> R {
    // A conflict passes at once. More of them in a row are something else.
    for _ in 0..<20 {
      do {
        return try await transaction(body)
      } catch let error as PostgresError where error.isConflict {
        continue
      }
    }
    return try await transaction(body)
  }
}

extension PostgresError {
  /// Whether another transaction came first: a serialization failure, a deadlock, or a row that both insert.
  var isConflict: Bool {
    switch code {
    case .server(let state): ["40001", "40P01", "23505"].contains(state)
    default: false
    }
  }

  /// Whether somebody else held a row for longer than the endpoint's `lockTimeout`.
  var isLockTimeout: Bool { code == .server(sqlState: "55P03") }
}
