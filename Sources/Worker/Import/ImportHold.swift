import Domain
import EventLoop
import Ledger
import Service

/// A run's lease of an import: it is prolonged every few seconds, and tells whether the run may go on.
@LoopActor
final class ImportHold {
  private static let interval = Duration.seconds(5)
  /// How long a run registers rows while others wait. What comes before the first row does not count: the next run
  /// would do it again, and no row would follow.
  static let turn = Duration.seconds(300)

  /// Prolongs the lease, and notes how far the run is.
  private let keep: @LoopActor (UploadedImport.Progress) async throws -> ImportWork.Kept
  /// How far the run is.
  var progress: UploadedImport.Progress
  /// The publisher's lock, once the run has it. It is lost with its connection, so the hold takes it again and again.
  var lock: ImportLock?
  /// Whether the role stops.
  var isClosing = false
  private let clock: @LoopActor () -> ContinuousClock.Instant
  private var keptAt: ContinuousClock.Instant
  private var kept: ImportWork.Kept?
  /// When the rows began, and how many had a result then.
  private var rowsBegan: (at: ContinuousClock.Instant, done: Int)?
  private(set) var isLost = false
  private lazy var keeping = Chore(every: Self.interval, after: Self.interval) { [weak self] in await self?.keepNow() }

  init(
    _ progress: UploadedImport.Progress, clock: @escaping @LoopActor () -> ContinuousClock.Instant = { .now },
    keep: @escaping @LoopActor (UploadedImport.Progress) async throws -> ImportWork.Kept
  ) {
    (self.progress, self.clock, self.keep, keptAt) = (progress, clock, keep, clock())
  }

  func start() { keeping.start() }

  /// Does not prolong the lease any more.
  func stop() async { await keeping.stop(within: Self.interval) }

  /// Notes how many rows have a result. The pace counts from the first time on.
  func note(done: Int) {
    let first = rowsBegan ?? (clock(), done)
    rowsBegan = first
    let seconds = max(1, (clock() - first.at).components.seconds)
    progress.done = Int64(done)
    progress.rowsPerMinute = Int64(max(0, done - first.done)) * 60 / seconds
  }

  /// Prolongs the lease. If the ledger does not answer, the lease goes on as long as it lasts.
  func keepNow() async {
    let now = clock()
    do {
      guard try await lock?.take() ?? true else { throw ImportWork.Lost() }
      kept = try await keep(progress)
      keptAt = now
    } catch is ImportWork.Lost {
      isLost = true
    } catch {}
  }

  /// Whether the run may register further rows.
  ///
  /// - Throws: `ImportRun.Stopped` if another run may have the import.
  func standing() throws(ImportRun.Stopped) -> ImportRun.Standing {
    if clock() - keptAt > ImportWork.lease - Self.interval { isLost = true }
    guard !isLost else { throw ImportRun.Stopped(description: ImportWork.Lost().description) }
    if kept?.state == .cancelling { return .cancelled }
    let hasHadTurn = rowsBegan.map { clock() - $0.at > Self.turn } ?? false
    return isClosing || hasHadTurn && kept?.othersWait == true ? .yields : .ours
  }
}
