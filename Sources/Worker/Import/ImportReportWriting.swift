import Domain
package import EventLoop
package import Import
import Ledger
package import Postgres

/// Writes the report of an import: a line for each row that has a result. The ledger has the results, so that nobody
/// holds all of them in memory.
@LoopActor
package struct ImportReportWriting {
  /// Rows that are read at once.
  private static let page = 500
  /// From so many bytes on, the lines are handed on, also inside a page: they become one parameter of a statement.
  private static let atOnce = 256 << 10

  let publisherId: Int64
  let round: Int
  /// Reads the results of those synchronizations that are finalized.
  let results: @LoopActor ([SynchronizationId]) async throws -> [SynchronizationId: SynchronizationResult]
  /// Reads purchases.
  let purchases: @LoopActor ([PurchaseKey]) async throws -> [PurchaseKey: Purchase]

  package init(_ publisherId: Int64, round: Int, _ postgres: PostgresClient) {
    (self.publisherId, self.round) = (publisherId, round)
    let (synchronizations, reader) = (SynchronizationReader(postgres), PurchaseReader(postgres))
    results = { try await synchronizations.results(publisherId, $0) }
    purchases = { try await reader.purchases($0) }
  }

  /// Writes the lines of some rows.
  ///
  /// - Parameter write: takes whole lines, of up to ``page`` rows, and hardly more than ``atOnce`` bytes.
  /// - Returns: the counts. The rows without a result are `forgotten`.
  package func write(
    _ rows: ImportRows, to write: @LoopActor ([UInt8]) async throws -> Void
  ) async throws -> ImportSummary {
    var summary = ImportSummary()
    var rest = rows[...]
    while !rest.isEmpty {
      let page = rest.prefix(Self.page)
      rest = rest.dropFirst(page.count)
      let results = try await results(page.map { $0.synchronizationId(round: round) })
      let some = page.compactMap { row in results[row.synchronizationId(round: round)].map { (row, $0) } }
      let purchases = try await purchases(Array(Set(some.compactMap { key(of: $0.1) })))
      let now = unixMilliseconds()
      var lines: [UInt8] = []
      for (row, result) in some {
        let imported = ImportedRow(row, result, key(of: result).flatMap { purchases[$0] })
        summary.count(imported, now: now)
        lines += imported.line(now: now)
        guard lines.count >= Self.atOnce else { continue }
        try await write(lines)
        lines = []
      }
      if !lines.isEmpty { try await write(lines) }
    }
    summary.forgotten = rows.count - summary.rows
    return summary
  }

  init(
    _ publisherId: Int64, round: Int,
    results: @escaping @LoopActor ([SynchronizationId]) async throws -> [SynchronizationId: SynchronizationResult],
    purchases: @escaping @LoopActor ([PurchaseKey]) async throws -> [PurchaseKey: Purchase]
  ) {
    (self.publisherId, self.round, self.results, self.purchases) = (publisherId, round, results, purchases)
  }

  private func key(of result: SynchronizationResult) -> PurchaseKey? {
    guard let original = result.originalTransactionId, let environment = result.environment else { return nil }
    return PurchaseKey(publisherId: publisherId, environment: environment, originalTransactionId: original)
  }
}
