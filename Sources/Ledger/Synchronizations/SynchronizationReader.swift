public import Domain
public import EventLoop
public import Postgres

/// Reads synchronizations of the ledger: the finalized ones, and those that wait for long.
///
/// Every method throws `PostgresError`.
@LoopActor
public struct SynchronizationReader {
  private let postgres: PostgresClient

  /// Creates a reader over a client.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Whether the ledger answers now.
  public var isReady: Bool { postgres.isReady }

  /// Reads a publisher's synchronizations with an id: one at most, unless a client has used the id twice.
  ///
  /// A finalized one comes first. The customer of an erased one is a stand-in.
  public func synchronizations(_ publisher: Int64, _ id: String) async throws -> [Synchronization] {
    let rows = try await postgres.run(PostgresQuery(.readSynchronizations, [.int64(publisher), .text(id)]))
    let all = try rows.map { try KeptSynchronization($0).synchronization }
    return all.filter { $0.status == .finalized } + all.filter { $0.status != .finalized }
  }
}

extension PostgresStatement {
  fileprivate static let readSynchronizations = PostgresStatement(
    "read synchronizations",
    "SELECT \(KeptSynchronization.columns("s")) FROM synchronizations s WHERE s.publisher_id = $1 AND s.id = $2")
}
