import Glibc

/// A mutual exclusion lock over `pthread_mutex_t`.
///
/// ThreadSanitizer does not see `Synchronization.Mutex` on Linux and reports false races through it; it sees this one.
public final class Lock: @unchecked Sendable {
  // Sendable is right: the mutex is only touched through the pthread calls, which are thread-safe, and its
  // address never changes between init and deinit.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

  /// Creates an unlocked lock.
  public init() {
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Runs `body` while holding the lock; never resume a continuation or call out of the module in there.
  public func withLock<Value>(_ body: () throws -> Value) rethrows -> Value {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body()
  }
}
