import Glibc

/// A mutual exclusion lock over `pthread_mutex_t`.
///
/// ThreadSanitizer does not see `Synchronization.Mutex` on Linux and reports false races through it. It sees this lock.
public final class Lock: @unchecked Sendable {
  // Sendable is right: code touches the mutex only through the pthread calls, which are thread-safe. Its address never
  // changes between `init` and `deinit`.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

  /// Creates an unlocked lock.
  public init() {
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Runs `body` while holding the lock. `body` must not resume a continuation or call out of the module.
  public func withLock<Value>(_ body: () throws -> Value) rethrows -> Value {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body()
  }
}
