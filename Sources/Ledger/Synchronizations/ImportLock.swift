public import Domain
public import EventLoop
public import Postgres

/// Lets one import of a publisher run at a time: a lock of the session, which ends with its connection.
@LoopActor
public struct ImportLock {
  private let postgres: PostgresClient
  private let key: Int64

  /// Creates the lock of a publisher.
  ///
  /// - Parameter postgres: a client with one connection.
  public init(_ postgres: PostgresClient, publisher: PublisherId) {
    self.postgres = postgres
    key = AdvisoryLock.key("import \(publisher)")
  }

  /// Takes the lock, or keeps it. After a lost connection another import may have it.
  ///
  /// - Returns: whether it is ours.
  /// - Throws: `PostgresError`.
  public func take() async throws -> Bool {
    try await postgres.run(PostgresQuery(.lockImport, [.int64(key)])).first?.bool("is_locked") == true
  }
}

extension PostgresStatement {
  /// Asked again by the session that has the lock, it only counts up.
  fileprivate static let lockImport = PostgresStatement(
    "try to lock an import", "SELECT pg_try_advisory_lock($1) AS is_locked")
}
