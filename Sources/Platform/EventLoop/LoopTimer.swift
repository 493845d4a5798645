import CUV

/// A timer of the loop. It calls its handler once, or again and again until it is closed.
///
/// A timer runs at most once a turn. libuv runs a timer again in the same turn, without a look at the descriptors, if
/// its handler starts it with 0 ms, or with less than the handler takes. So what a timer's handler starts, itself or
/// another timer, is armed at the end of the turn only. It still runs in the next turn if it is due by then.
@LoopActor
public final class LoopTimer {
  /// The name of the timer.
  let work: LoopWork
  private var handle: UnsafeMutablePointer<uv_timer_t>?
  private var handler: (@LoopActor () -> Void)?
  /// Milliseconds from one call to the next; 0 for a single call.
  private var interval: UInt64 = 0
  /// When the timer is due by the loop's clock, in milliseconds, while it waits for the end of the turn.
  private var laterDue: UInt64?
  private var isPlanned = false
  /// When a timer is due that waits for the end of the turn.
  var due: UInt64 { laterDue ?? 0 }

  /// Creates a timer and does not start it.
  ///
  /// - Parameter place: who owns it, for the log of slow turns.
  public init(at place: StaticString = #fileID, _ handler: @escaping @LoopActor () -> Void) {
    work = LoopWork(.timer, place)
    self.handler = handler
    let handle = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: 1)
    check(uv_timer_init(EventLoop.process.uv, handle), "uv_timer_init")
    // The handle retains the timer until `close`, since the loop may hold the last reference to a running timer.
    handle.pointee.data = Unmanaged.passRetained(self).toOpaque()
    self.handle = handle
  }

  /// Starts the timer, or starts it anew. A second duration makes it repeat. Its resolution is one millisecond.
  public func start(after delay: Duration, every interval: Duration? = nil) {
    guard handle != nil else { return }
    uv_update_time(EventLoop.process.uv)
    self.interval = interval.map { max(1, $0.wholeMilliseconds) } ?? 0
    start(after: delay.wholeMilliseconds)
  }

  private func start(after milliseconds: UInt64) {
    guard let handle else { return }
    let loop = EventLoop.process
    guard loop.isRunningTimer else {
      laterDue = nil
      check(uv_timer_start(handle, onTimer, milliseconds, 0), "uv_timer_start")
      return
    }
    uv_timer_stop(handle)
    let (due, isTooLate) = uv_now(loop.uv).addingReportingOverflow(milliseconds)
    laterDue = isTooLate ? .max : due
    guard !isPlanned else { return }
    isPlanned = true
    loop.add(self)
  }

  /// Arms the timer at the end of the turn, unless it was stopped or started otherwise.
  func arm() {
    isPlanned = false
    guard let handle, let due = laterDue else { return }
    laterDue = nil
    uv_update_time(EventLoop.process.uv)
    let now = uv_now(EventLoop.process.uv)
    check(uv_timer_start(handle, onTimer, due > now ? due - now : 0, 0), "uv_timer_start")
  }

  /// Stops the timer. It can start again.
  public func stop() {
    guard let handle else { return }
    laterDue = nil
    uv_timer_stop(handle)
  }

  /// Stops the timer for good and frees it. Every timer must be closed.
  public func close() {
    guard let handle else { return }
    self.handle = nil
    handler = nil
    laterDue = nil
    closeHandle(UnsafeMutableRawPointer(handle))
  }

  /// Calls the handler. A timer that repeats is started again before, so that its handler can stop it.
  func fire() {
    if interval > 0 { start(after: interval) }
    handler?()
  }
}

private func onTimer(_ handle: UnsafeMutablePointer<uv_timer_t>?) {
  let timer = Unmanaged<LoopTimer>.fromOpaque(handle!.pointee.data).takeUnretainedValue()
  LoopActor.assumeIsolated { EventLoop.process.run(timer) }
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
