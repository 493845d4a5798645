import Domain
import Postgres

/// Orders Apple's denial of a transaction and a provisional grant for it.
///
/// No row may exist yet that both could lock. Without an order, a denial that read "no such purchase" could commit
/// behind the grant, and nobody would withdraw the access.
enum DeniedTransactions {
  /// Locks the transactions of jobs until the end of the transaction. It must come before the purchases are read.
  static func lock(_ jobs: [Job]) -> PostgresQuery {
    PostgresQuery(statement, [.int64s(jobs.map(key).sorted())])
  }

  /// The finalizations that could meet a grant: Apple's answer denies the transaction. The publisher's setting does not
  /// count: the gateway may have read it before this worker.
  static func concerned(_ requests: [FinalizationRequest]) -> [Job] {
    requests.filter { request in
      guard case .noEvidence(let code) = request.basis else { return false }
      return code.deniesPurchase
    }.map(\.job)
  }

  private static func key(_ job: Job) -> Int64 { AdvisoryLock.key("\(job.publisherId)/\(job.transactionId)") }

  private static let statement = PostgresStatement(
    "lock denied transactions",
    "SELECT pg_advisory_xact_lock(key) FROM (SELECT key FROM unnest($1::bigint[]) AS n (key) ORDER BY key) sorted")
}
