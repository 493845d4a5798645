import EventLoop
import Observability
import Service

/// Keeps a row of the ledger from ending workers again and again: a due timer, a refund request, the end of access by
/// hand, a page of an app's Notification History, the file of an import (decision 0034).
///
/// No message carries such a row, so no broker says that it comes again: each of its runs is counted in Redis, beside
/// the call to Apple that it makes there anyway. A row whose runs do not end runs alone. At last it is held back: each
/// worker that takes it leaves it, with an error in the log and in the metrics, until a person deletes its count.
@LoopActor
final class SuspectRows {
  private let suspects: Suspects
  private let begun: any RunCounts
  private let log: Log
  private let heldBack: Counter

  /// The kinds of rows.
  enum Kind: String, CaseIterable {
    case timer, refund, history, grant
    case sandboxAccess = "sandbox_access"
    /// The reading of an import's file.
    case imported = "import"
  }

  init(_ suspects: Suspects, _ begun: any RunCounts, _ context: RoleContext) {
    self.suspects = suspects
    self.begun = begun
    log = context.log
    heldBack = context.metrics.counter(
      "countersign_suspect_rows_held_back_total",
      "Rows that the worker left alone, because workers died while they worked on them.", labels: ["kind"],
      known: Kind.allCases.map { [$0.rawValue] })
  }

  /// Runs a row's work, beside others or alone.
  ///
  /// Without Redis the work runs uncounted: a timer that our own clock decides must not wait for Redis.
  ///
  /// - Returns: what became of it. If it has not run, the row's lease ends, and somebody takes it again.
  @discardableResult
  func run(_ kind: Kind, _ name: String, _ work: @LoopActor () async -> Void) async -> Suspects.Ending {
    let run = "\(kind.rawValue):\(name)"
    guard begun.isReady, let crashes = try? await begun.counts([run]).first else {
      return await suspects.run(crashes: 0, log, work)
    }
    // A crash while it waits does not count against it.
    let ending = await suspects.run(crashes: crashes, log.with(["run": .string(run)])) {
      await count(run, work)
    }
    if ending == .never { note(kind, run, crashes) }
    return ending
  }

  /// Counts a run as long as it lasts.
  private func count(_ run: String, _ work: @LoopActor () async -> Void) async {
    try? await begun.begin([run])
    await work()
    try? await begun.end([run])
  }

  private func note(_ kind: Kind, _ run: String, _ crashes: Int) {
    log.error("held back: it seems to kill its worker", ["run": .string(run), "crashes": .int(Int64(crashes))])
    heldBack.count(kind.rawValue)
  }
}
