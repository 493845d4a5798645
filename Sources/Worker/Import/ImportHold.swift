import Domain
import EventLoop
import Import
import Ledger

/// A run's lease of an import: it is prolonged every few seconds, and tells whether the run may go on.
@LoopActor
final class ImportHold {
  private static let interval = Duration.seconds(5)
  /// How long a run keeps its place while others wait.
  private static let turn = Duration.seconds(300)

  /// Prolongs the lease, and notes how far the run is.
  private let keep: @LoopActor (UploadedImport.Progress) async throws -> ImportWork.Kept
  /// How far the run is.
  var progress: UploadedImport.Progress
  /// Takes the publisher's lock, or keeps it: it is lost with its connection.
  var keepLock: @LoopActor () async throws -> Bool = { true }
  /// Whether the role stops.
  var isClosing = false
  private let began = ContinuousClock.now
  private var keptAt = ContinuousClock.now
  private var kept: ImportWork.Kept?
  /// When the rows began, and how many had a result then.
  private var rowsBegan: (at: ContinuousClock.Instant, done: Int)?
  private(set) var isLost = false
  private var isKeeping = false
  private var timer: LoopTimer?

  init(
    _ progress: UploadedImport.Progress,
    keep: @escaping @LoopActor (UploadedImport.Progress) async throws -> ImportWork.Kept
  ) {
    (self.progress, self.keep) = (progress, keep)
  }

  func start() {
    let timer = LoopTimer { [weak self] in
      guard let self, !isKeeping else { return }
      Task { @LoopActor in await self.keepNow() }
    }
    timer.start(after: Self.interval, every: Self.interval)
    self.timer = timer
  }

  func close() {
    timer?.close()
    timer = nil
  }

  /// Notes how many rows have a result. The pace counts from the first time on.
  func note(done: Int) {
    let first = rowsBegan ?? (.now, done)
    rowsBegan = first
    let seconds = max(1, (ContinuousClock.now - first.at).components.seconds)
    progress.done = Int64(done)
    progress.rowsPerMinute = Int64(max(0, done - first.done)) * 60 / seconds
  }

  /// Prolongs the lease. If the ledger does not answer, the lease goes on as long as it lasts.
  func keepNow() async {
    isKeeping = true
    defer { isKeeping = false }
    let now = ContinuousClock.now
    do {
      guard try await keepLock() else { throw ImportWork.Lost() }
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
    if ContinuousClock.now - keptAt > ImportWork.lease - Self.interval { isLost = true }
    guard !isLost else { throw ImportRun.Stopped(description: ImportWork.Lost().description) }
    if kept?.state == .cancelling { return .cancelled }
    let hasHadTurn = ContinuousClock.now - began > Self.turn && kept?.othersWait == true
    return isClosing || hasHadTurn ? .yields : .ours
  }
}
