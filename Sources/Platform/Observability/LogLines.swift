import EventLoop
import Glibc

/// Lines of the loop's turn, written together at its end: a system call for a dozen instead of one for each.
///
/// What comes with a warning or an error is written at once, and everything is before the process exits. A process that is killed
/// loses what its last turn, of some milliseconds, did without one.
@LoopActor
final class LogLines {
  static let process = LogLines()

  /// What one write may have: lines of several processes on one pipe do not mix up to so many bytes (PIPE_BUF of Linux).
  private static let most = 4096

  private var bytes: [UInt8] = []
  private lazy var flushLater = EndOfTurn { [weak self] in self?.flush() }

  private init() {
    atexit(flushAtExit)
  }

  func add(_ line: [UInt8], isUrgent: Bool) {
    if bytes.count + line.count > Self.most { flush() }
    bytes.append(contentsOf: line)
    if isUrgent { return flush() }
    flushLater.plan()
  }

  func flush() {
    writeToStandardError(bytes)
    bytes.removeAll(keepingCapacity: true)
  }
}

/// Whoever ends the process from the loop may have logged in the same turn.
private func flushAtExit() {
  guard EventLoop.process.isCurrent else { return }
  LoopActor.assumeIsolated { LogLines.process.flush() }
}

/// Writes all of it, unless nobody takes it: a log that cannot be written must not stop the work.
func writeToStandardError(_ bytes: [UInt8]) {
  var rest = bytes[...]
  while !rest.isEmpty {
    let written = rest.withUnsafeBytes { Glibc.write(2, $0.baseAddress, $0.count) }
    if written < 0 {
      if errno == EINTR { continue }
      return
    }
    rest = rest.dropFirst(written)
  }
}
