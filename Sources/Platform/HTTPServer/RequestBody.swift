import EventLoop

/// The body of a request. It can be forgotten before the request ends, because every copy of the request shares it.
final class RequestBody: @unchecked Sendable {
  // Sendable is right: `content` is read and written under the lock only, and nothing else changes.
  private var content: [UInt8]
  private let lock = Lock()
  private let onForget: (@LoopActor @Sendable () -> Void)?

  init(_ bytes: [UInt8], onForget: (@LoopActor @Sendable () -> Void)? = nil) {
    content = bytes
    self.onForget = onForget
  }

  var bytes: [UInt8] { lock.withLock { content } }

  @LoopActor func forget() {
    lock.withLock { content = [] }
    onForget?()
  }
}
