package import Domain
package import EventLoop
package import Import
import Ledger
package import Postgres

/// Writes the report of an import: a line for each row of the file. The ledger has the results, so that nobody holds
/// all of them in memory. The same file and the same ledger give the same lines at the same time, whichever run writes
/// them.
@LoopActor
package struct ImportReportWriting {
  /// Rows that are read at once.
  private static let page = 500
  /// From so many bytes on, the lines are handed on, also inside a page: they become one parameter of a statement.
  private static let atOnce = 256 << 10

  let publisher: Publisher
  let round: Int
  /// Reads the results of those synchronizations that are finalized.
  let results: @LoopActor ([SynchronizationId]) async throws -> [SynchronizationId: SynchronizationResult]
  /// Reads purchases.
  let purchases: @LoopActor ([PurchaseKey]) async throws -> [PurchaseKey: Purchase]

  package init(_ publisher: Publisher, round: Int, _ postgres: PostgresClient) {
    let (synchronizations, reader) = (SynchronizationReader(postgres), PurchaseReader(postgres))
    self.init(
      publisher, round: round, results: { try await synchronizations.results(publisher.id, $0) },
      purchases: { try await reader.purchases($0) })
  }

  init(
    _ publisher: Publisher, round: Int,
    results: @escaping @LoopActor ([SynchronizationId]) async throws -> [SynchronizationId: SynchronizationResult],
    purchases: @escaping @LoopActor ([PurchaseKey]) async throws -> [PurchaseKey: Purchase]
  ) {
    (self.publisher, self.round, self.results, self.purchases) = (publisher, round, results, purchases)
  }

  /// Writes the lines of a file's rows, in the order of the file.
  ///
  /// - Parameter write: takes whole lines, hardly more than ``atOnce`` bytes.
  /// - Returns: the counts. The rows without a result are `forgotten`.
  package func write(
    _ rows: ImportRows, _ leftOut: ImportLeftOut, to write: @escaping @LoopActor ([UInt8]) async throws -> Void
  ) async throws -> ImportSummary {
    let lines = Lines(leftOut, write)
    var summary = ImportSummary()
    var rest = rows[...]
    while !rest.isEmpty {
      let page = rest.prefix(Self.page)
      rest = rest.dropFirst(page.count)
      let results = try await results(page.map { $0.synchronizationId(round: round) })
      let purchases = try await purchases(Array(Set(results.values.compactMap { key(of: $0) })))
      let now = unixMilliseconds()
      for row in page {
        try await lines.addLeftOut(before: row.line)
        guard let result = results[row.synchronizationId(round: round)] else {
          summary.forgotten += 1
          try await lines.add(ImportedRow.missing(row))
          continue
        }
        let imported = ImportedRow(
          row, result, key(of: result).flatMap { purchases[$0] }, publisher: publisher, now: now)
        summary.count(imported)
        try await lines.add(imported.line)
      }
      try await lines.handOn()
    }
    try await lines.addLeftOut(before: .max)
    try await lines.handOn()
    return summary
  }

  /// The lines that are not handed on yet, and the rows that are left out.
  @LoopActor
  private final class Lines {
    private let leftOut: ImportLeftOut
    private let write: @LoopActor ([UInt8]) async throws -> Void
    private var next = 0
    private var lines: [UInt8] = []

    init(_ leftOut: ImportLeftOut, _ write: @escaping @LoopActor ([UInt8]) async throws -> Void) {
      (self.leftOut, self.write) = (leftOut, write)
    }

    func add(_ line: [UInt8]) async throws {
      lines += line
      if lines.count >= ImportReportWriting.atOnce { try await handOn() }
    }

    /// Adds the rows that are left out, and stand before a line of the file.
    func addLeftOut(before line: Int) async throws {
      while next < leftOut.count, leftOut.line(at: next) < line {
        try await add(leftOut.text(at: next))
        next += 1
      }
    }

    func handOn() async throws {
      guard !lines.isEmpty else { return }
      let piece = lines
      lines = []
      try await write(piece)
    }
  }

  private func key(of result: SynchronizationResult) -> PurchaseKey? {
    guard let original = result.originalTransactionId, let environment = result.environment else { return nil }
    return PurchaseKey(publisherId: publisher.id, environment: environment, originalTransactionId: original)
  }
}
