import CUV

/// Calls its handler on the loop whenever the process receives a signal.
@LoopActor
public final class SignalWatcher {
  private var handle: UnsafeMutablePointer<uv_signal_t>?
  private let work: LoopWork
  private let handler: @LoopActor () -> Void

  /// Starts to watch for `signal`, for example `SIGTERM`.
  ///
  /// - Parameter place: who watches, for the log of slow turns.
  public init(_ signal: Int32, at place: StaticString = #fileID, _ handler: @escaping @LoopActor () -> Void) {
    work = LoopWork(.signal, place)
    self.handler = handler
    let handle = UnsafeMutablePointer<uv_signal_t>.allocate(capacity: 1)
    check(uv_signal_init(EventLoop.process.uv, handle), "uv_signal_init")
    handle.pointee.data = Unmanaged.passRetained(self).toOpaque()
    self.handle = handle
    check(uv_signal_start(handle, onSignal, signal), "uv_signal_start")
  }

  /// Stops for good and gives the signal back its default action.
  public func close() {
    guard let handle else { return }
    self.handle = nil
    closeHandle(UnsafeMutableRawPointer(handle))
  }

  fileprivate func fire() {
    EventLoop.process.begins(work)
    handler()
  }
}

private func onSignal(_ handle: UnsafeMutablePointer<uv_signal_t>?, _ signal: Int32) {
  let watcher = Unmanaged<SignalWatcher>.fromOpaque(handle!.pointee.data).takeUnretainedValue()
  LoopActor.assumeIsolated { watcher.fire() }
}
