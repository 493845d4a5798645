import EventLoop

/// The long notifications that are read and verified beside the loop, few at a time.
///
/// A notification of the usual size costs the loop a tenth of a millisecond. One of the largest size costs it some
/// milliseconds, and anybody can post one. So it takes a thread of the pool, and while all of its threads are taken, it
/// is answered with 503: Apple's own are never so long.
@LoopActor
final class LongTexts {
  /// The most bytes that the loop reads and verifies itself. Apple's notifications have about 20 KiB; the old ones of
  /// version 1 have whole receipts, which may be longer.
  nonisolated static let longestOnLoop = 128 << 10

  private let atOnce: Int
  private var running = 0

  init(atOnce: Int) { self.atOnce = atOnce }

  /// Does work with so many bytes: with many of them, on a thread of the pool.
  ///
  /// - Returns: `nil` if a thread is needed, and enough is under way.
  func read<Value: Sendable>(_ size: Int, _ work: @escaping @Sendable () -> Value) async -> Value? {
    if size <= Self.longestOnLoop { return work() }
    guard running < atOnce else { return nil }
    running += 1
    defer { running -= 1 }
    return try? await EventLoop.offload(work)
  }
}
