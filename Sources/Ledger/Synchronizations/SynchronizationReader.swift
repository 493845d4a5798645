public import Domain
public import EventLoop
import Formats
public import Postgres

/// Reads synchronizations of the ledger: the finalized ones, and the ones that have waited for long.
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
  public func synchronizations(_ publisher: PublisherId, _ id: SynchronizationId) async throws -> [Synchronization] {
    let rows = try await postgres.run(PostgresQuery(.readSynchronizations, [.id(publisher), .id(id)]))
    let all = try KeptSynchronization.all(rows).map(\.synchronization)
    return all.filter { $0.status == .finalized } + all.filter { $0.status != .finalized }
  }

  /// Reads the results of those of some synchronizations that are finalized, by their ids.
  public func results(
    _ publisher: PublisherId, _ ids: [SynchronizationId]
  ) async throws -> [SynchronizationId: SynchronizationResult] {
    let rows = try await postgres.run(PostgresQuery(.readResults, [.id(publisher), .ids(ids)]))
    let found = try KeptSynchronization.all(rows).map(\.synchronization)
    return Dictionary(found.compactMap { one in one.result.map { (one.id, $0) } }) { one, _ in one }
  }

  /// Whether a synchronization is that of a job, also after the erasure of its customer.
  public static func isSame(_ synchronization: Synchronization, as job: Job) -> Bool {
    let customer = job.customerKey
    return synchronization.transactionId == job.transactionId && synchronization.kind == job.kind
      && [customer.id, ErasedCustomer.standIn(for: customer)].contains(synchronization.customerId)
  }
}

extension PostgresStatement {
  fileprivate static let readResults = PostgresStatement(
    "read results",
    """
    SELECT \(SynchronizationRow.table.selected("s")) FROM synchronizations s
    WHERE s.publisher_id = $1 AND s.id = ANY($2) AND s.status = 'finalized'
    """)

  fileprivate static let readSynchronizations = PostgresStatement(
    "read synchronizations",
    "SELECT \(SynchronizationRow.table.selected("s")) FROM synchronizations s WHERE s.publisher_id = $1 AND s.id = $2")
}
