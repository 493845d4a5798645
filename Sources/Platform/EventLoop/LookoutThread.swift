// CUV also declares the times of the system. Glibc's own module shows them only by accident.
import CUV
import Glibc
import Synchronization

/// A thread of its own that calls its closure at an interval until it is stopped. It is for what must be seen while the
/// loop does not go on.
public final class LookoutThread: Sendable {
  private let state: State

  /// Starts the thread. It keeps its closure until ``stop()``.
  ///
  /// - Parameter look: runs on the thread. It must not touch the loop.
  public init(every interval: Duration, _ look: @escaping @Sendable () -> Void) {
    state = State(nanoseconds: max(1, interval.wholeMilliseconds) * 1_000_000, look)
    // The thread inherits the mask: the loop's thread takes all signals.
    var (all, before) = (sigset_t(), sigset_t())
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &before)
    var thread = pthread_t()
    let failure = pthread_create(&thread, nil, runLookout, Unmanaged.passRetained(state).toOpaque())
    pthread_sigmask(SIG_SETMASK, &before, nil)
    precondition(failure == 0, "pthread_create for a lookout failed: \(String(cString: strerror(failure)))")
    pthread_detach(thread)
  }

  /// Ends the thread after its present interval.
  public func stop() { state.stop() }
}

private final class State: Sendable {
  let nanoseconds: UInt64
  let look: @Sendable () -> Void
  private let isStopped = Atomic(false)

  init(nanoseconds: UInt64, _ look: @escaping @Sendable () -> Void) {
    self.nanoseconds = nanoseconds
    self.look = look
  }

  func stop() { isStopped.store(true, ordering: .relaxed) }
  var goesOn: Bool { !isStopped.load(ordering: .relaxed) }
}

private func runLookout(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  let state = Unmanaged<State>.fromOpaque(context!).takeRetainedValue()
  var pause = timespec(
    tv_sec: Int(state.nanoseconds / 1_000_000_000), tv_nsec: Int(state.nanoseconds % 1_000_000_000))
  while state.goesOn {
    nanosleep(&pause, nil)
    state.look()
  }
  return nil
}
