import EventLoop

/// Tells on standard error how far an export is, every ten seconds.
@LoopActor
final class ExportProgress {
  private let isTold: Bool
  private let began = ContinuousClock.now
  private var toldAt = ContinuousClock.now
  private var lines: Int64 = 0

  init(isTold: Bool) { self.isTold = isTold }

  /// Counts the lines of some bytes that were written.
  func add(_ bytes: [UInt8]) {
    for byte in bytes where byte == 0x0a { lines += 1 }
    guard isTold, ContinuousClock.now - toldAt >= .seconds(10) else { return }
    toldAt = .now
    let seconds = max(1, (toldAt - began).components.seconds)
    complain("\(lines) lines, \(lines / seconds) a second")
  }
}
