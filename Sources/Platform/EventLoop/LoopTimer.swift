import CUV

/// A timer of the loop. It calls its handler once, or again and again until it is closed.
@LoopActor
public final class LoopTimer {
  private var handle: UnsafeMutablePointer<uv_timer_t>?
  private var handler: (@LoopActor () -> Void)?

  /// Creates a timer and does not start it.
  public init(_ handler: @escaping @LoopActor () -> Void) {
    self.handler = handler
    let handle = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: 1)
    check(uv_timer_init(EventLoop.process.uv, handle), "uv_timer_init")
    // The handle retains the timer until `close`, since the loop may hold the last reference to a running timer.
    handle.pointee.data = Unmanaged.passRetained(self).toOpaque()
    self.handle = handle
  }

  /// Starts the timer, or starts it anew. A second duration makes it repeat. Its resolution is one millisecond.
  public func start(after delay: Duration, every interval: Duration? = nil) {
    guard let handle else { return }
    uv_update_time(EventLoop.process.uv)
    let interval = interval.map { max(1, $0.wholeMilliseconds) } ?? 0
    check(uv_timer_start(handle, onTimer, delay.wholeMilliseconds, interval), "uv_timer_start")
  }

  /// Stops the timer. It can start again.
  public func stop() {
    guard let handle else { return }
    uv_timer_stop(handle)
  }

  /// Stops the timer for good and frees it. Every timer must be closed.
  public func close() {
    guard let handle else { return }
    self.handle = nil
    handler = nil
    closeHandle(UnsafeMutableRawPointer(handle))
  }

  fileprivate func fire() { handler?() }
}

private func onTimer(_ handle: UnsafeMutablePointer<uv_timer_t>?) {
  let timer = Unmanaged<LoopTimer>.fromOpaque(handle!.pointee.data).takeUnretainedValue()
  LoopActor.assumeIsolated { timer.fire() }
}

/// Closes a libuv handle whose `data` is a retained object, then frees the object and the handle's memory.
@LoopActor
func closeHandle(_ raw: UnsafeMutableRawPointer) {
  uv_close(raw.assumingMemoryBound(to: uv_handle_t.self), onClosed)
}

private func onClosed(_ handle: UnsafeMutablePointer<uv_handle_t>?) {
  if let data = handle!.pointee.data { Unmanaged<AnyObject>.fromOpaque(data).release() }
  UnsafeMutableRawPointer(handle!).deallocate()
}

extension Duration {
  /// The duration in milliseconds, rounded up and never negative.
  public var wholeMilliseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    return UInt64(seconds) * 1000 + UInt64((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }

  /// The duration in seconds, for metrics and logs.
  public var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
