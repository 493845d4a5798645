import EventLoop
import Synchronization

/// The body of a request. It can be forgotten before the request ends, because every copy of the request shares it.
final class RequestBody: Sendable {
  private let content: Mutex<[UInt8]>
  private let onForget: (@LoopActor @Sendable () -> Void)?

  init(_ bytes: [UInt8], onForget: (@LoopActor @Sendable () -> Void)? = nil) {
    content = Mutex(bytes)
    self.onForget = onForget
  }

  var bytes: [UInt8] { content.withLock { $0 } }

  @LoopActor func forget() {
    content.withLock { $0 = [] }
    onForget?()
  }
}
