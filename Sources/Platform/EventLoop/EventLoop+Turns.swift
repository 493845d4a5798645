import CUV
import Glibc
import Synchronization

extension EventLoop {
  /// Calls the observer at the end of each turn that did some work. There is one observer, and a new one takes its
  /// place.
  @LoopActor
  public func observeTurns(_ observer: @escaping @LoopActor (LoopTurn) -> Void) { onTurn = observer }

  /// The monotonic clock by which turns begin, in nanoseconds. Any thread may call it.
  @LoopActor
  public var clockOfTurns: @Sendable () -> UInt64 { clock }

  /// The turn under way; `nil` while the loop waits. Any thread may ask.
  public var unfinishedTurn: UnfinishedTurn? {
    let began = turnBegan.load(ordering: .acquiring)
    guard began != 0, let work = LoopWork(word: presentWork.load(ordering: .relaxed)) else { return nil }
    return UnfinishedTurn(began: began, work: work)
  }
}

/// The monotonic clock in nanoseconds.
@Sendable
public func monotonicNanoseconds() -> UInt64 { uv_hrtime() }

/// The monotonic clock in nanoseconds as of the system's last tick, some milliseconds ago at most. It costs 5 ns where
/// the exact clock costs 25, and the loop asks at each callback.
@Sendable
func tickNanoseconds() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
  return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
}
