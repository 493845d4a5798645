import EventLoop
import Glibc

/// The lines of the loop's turn, written together at its end: one system call for a dozen lines instead of one for
/// each.
///
/// A line with a warning or an error goes out at once, and with it all lines before it. All lines go out before the
/// process exits. If a process is killed, it loses lines of its last turn (some milliseconds), unless a warning or an
/// error followed them.
///
/// The loop never waits for the reader of the lines. What it does not take waits here, and what has no room is dropped
/// and counted.
@LoopActor
final class LogLines {
  static let process = LogLines()

  /// The most bytes that wait for a reader. It takes them again at some pace, or never.
  private static let mostWaiting = 1 << 20
  /// The pause before a reader that took nothing is tried again.
  private static let pause = Duration.milliseconds(100)

  private var bytes: [UInt8] = []
  private var timer: LoopTimer?
  private lazy var flushLater = EndOfTurn { [weak self] in self?.flush() }
  /// The lines that nobody took.
  private(set) var dropped = 0

  private init() {
    atexit(flushAtExit)
  }

  func add(_ line: [UInt8], isUrgent: Bool) {
    if bytes.count + line.count > StandardError.mostAtOnce { flush() }
    guard bytes.isEmpty || bytes.count + line.count <= Self.mostWaiting else {
      dropped += 1
      return
    }
    bytes.append(contentsOf: line)
    if isUrgent { return flush() }
    flushLater.plan()
  }

  func flush() {
    let taken = StandardError.process.write(bytes[...])
    if taken == bytes.count { bytes.removeAll(keepingCapacity: true) } else { bytes.removeFirst(taken) }
    guard timer == nil, !bytes.isEmpty else { return }
    timer = LoopTimer { [weak self] in
      self?.timer?.close()
      self?.timer = nil
      self?.flush()
    }
    timer?.start(after: Self.pause)
  }

  /// Gives a slow reader a second for the last lines.
  func finish() {
    flush()
    let end = ContinuousClock.now + .seconds(1)
    while !bytes.isEmpty, .now < end {
      StandardError.process.waitUntilWritable(milliseconds: 100)
      flush()
    }
  }
}

/// Code on the loop that ends the process may have logged in the same turn.
private func flushAtExit() {
  guard EventLoop.process.isCurrent else { return }
  LoopActor.assumeIsolated { LogLines.process.finish() }
}
