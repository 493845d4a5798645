import Configuration
import EventLoop
import Ledger
import Observability
import Service

/// Lets PostgreSQL analyze the tables that have grown much, so that the plans of commits fit their size (decision
/// 0069).
@LoopActor
struct StatisticsLook {
  /// Returns the tables that have grown.
  let analyzeGrownTables: @LoopActor () async throws -> [String]
  let analyzed: Counter
  let log: Log

  /// Looks once.
  func run() async {
    do {
      let tables = try await analyzeGrownTables()
      guard !tables.isEmpty else { return }
      analyzed.add(Double(tables.count))
      log.info(
        "PostgreSQL was asked to analyze tables that have grown", ["tables": .string(tables.joined(separator: " "))])
    } catch {
      // Its autovacuum does that within some minutes.
      log.debug("grown tables were not analyzed", ["cause": .failure(error)])
    }
  }

  /// The chore of this look. It also looks each time that its process has committed twice as much: a new ledger grows
  /// to many times its size between two looks.
  ///
  /// - Parameter committed: tells how many results, pieces of news and waits a commit had.
  func chore(
    every interval: Duration, isReady: @escaping @LoopActor () -> Bool, committed: Followers<Int>
  ) -> Chore {
    let chore = Chore(every: interval, .dropped, isReady: isReady, look: run)
    let growth = Growth()
    committed.add { [weak chore] in if growth.doublings.add($0) { chore?.lookNow() } }
    return chore
  }

  /// How much this process has committed.
  @LoopActor
  private final class Growth {
    var doublings = TableStatistics.looks
  }
}

extension StatisticsLook {
  /// The chore of a worker.
  static func chore(_ parts: WorkerParts) -> Chore {
    let (ledger, context) = (parts.ledger, parts.context)
    return StatisticsLook(
      analyzeGrownTables: { try await TableStatistics(ledger.postgres).analyzeGrownTables() },
      analyzed: parts.metrics.analyzed, log: context.log
    ).chore(every: context.settings.worker.sweepInterval, isReady: { ledger.isReady }, committed: parts.committed)
  }
}
