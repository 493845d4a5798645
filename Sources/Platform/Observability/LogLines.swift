import EventLoop
import Glibc

/// The lines of the loop's turn, written together at its end: one system call for a dozen lines instead of one for
/// each.
///
/// A line with a warning or an error goes out at once, and with it all lines before it. All lines go out before the
/// process exits. If a process is killed, it loses lines of its last turn (some milliseconds), unless a warning or an
/// error followed them.
@LoopActor
final class LogLines {
  static let process = LogLines()

  /// The most bytes of one write. Up to this size, lines of several processes on one pipe do not mix (PIPE_BUF of
  /// Linux).
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

/// Code on the loop that ends the process may have logged in the same turn.
private func flushAtExit() {
  guard EventLoop.process.isCurrent else { return }
  LoopActor.assumeIsolated { LogLines.process.flush() }
}

/// Writes all bytes, unless nobody takes them. A log that cannot be written must not stop the work.
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
