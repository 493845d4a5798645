import CUV

/// The operations for which a descriptor is ready.
public struct Readiness: OptionSet, Sendable {
  public let rawValue: Int32

  /// Creates a set from libuv's bits.
  public init(rawValue: Int32) { self.rawValue = rawValue }

  /// Bytes, a connection, an end of file or an error wait to be read.
  public static let readable = Readiness(rawValue: Int32(UV_READABLE.rawValue))
  /// A write would not block, or would fail at once.
  public static let writable = Readiness(rawValue: Int32(UV_WRITABLE.rawValue))
}

/// Watches a descriptor that another object owns. Close the watcher before the owner closes the descriptor.
@LoopActor
public final class DescriptorWatcher {
  private let work: LoopWork
  private var handle: UnsafeMutablePointer<uv_poll_t>?
  private var handler: (@LoopActor (Readiness) -> Void)?
  private var watched: Readiness = []

  /// Creates a watcher. It watches nothing before ``watch(_:)``.
  ///
  /// - Parameter place: who owns it, for the log of slow turns.
  /// - Throws: ``LoopError`` when the descriptor cannot be watched, for example because another watcher has it.
  public init(
    descriptor: Int32, at place: StaticString = #fileID, _ handler: @escaping @LoopActor (Readiness) -> Void
  ) throws {
    work = LoopWork(.descriptor, place)
    let handle = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
    let status = uv_poll_init(EventLoop.process.uv, handle, descriptor)
    guard status >= 0 else {
      handle.deallocate()
      throw LoopError(operation: "watch descriptor \(descriptor)", status: status)
    }
    self.handler = handler
    handle.pointee.data = Unmanaged.passRetained(self).toOpaque()
    self.handle = handle
  }

  /// Watches for exactly these conditions, level-triggered. An empty set pauses the watcher.
  public func watch(_ readiness: Readiness) {
    guard let handle, readiness != watched else { return }
    watched = readiness
    let status =
      readiness.isEmpty
      ? uv_poll_stop(handle) : uv_poll_start(handle, readiness.rawValue, onReady)
    // This fails only for an invalid descriptor, and the descriptor's owner sees that at the next read.
    if status < 0 { fire([.readable, .writable]) }
  }

  /// Stops for good and frees the watcher.
  public func close() {
    guard let handle else { return }
    self.handle = nil
    handler = nil
    closeHandle(UnsafeMutableRawPointer(handle))
  }

  fileprivate func tell(_ status: Int32, _ events: Int32) {
    EventLoop.process.begins(work)
    if status < 0 { fail() } else { fire(Readiness(rawValue: events)) }
  }

  private func fire(_ readiness: Readiness) { handler?(readiness) }

  /// Tells an error as readiness, since the owner's next read or write names the cause.
  private func fail() {
    // libuv has stopped watching, but the owner may have bytes to read before it comes to the error.
    if let handle, !watched.isEmpty { uv_poll_start(handle, watched.rawValue, onReady) }
    fire([.readable, .writable])
  }
}

private func onReady(_ handle: UnsafeMutablePointer<uv_poll_t>?, _ status: Int32, _ events: Int32) {
  let watcher = Unmanaged<DescriptorWatcher>.fromOpaque(handle!.pointee.data).takeUnretainedValue()
  LoopActor.assumeIsolated(with: (watcher, status, events)) { watcher, status, events in watcher.tell(status, events) }
}
