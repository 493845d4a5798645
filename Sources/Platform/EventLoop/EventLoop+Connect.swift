// CUV also declares the socket constants. Glibc's own module shows them only by accident.
import CUV
import Formats
import Glibc

extension EventLoop {
  /// Opens a TCP connection to a host and returns its descriptor, non-blocking and without Nagle's delay.
  ///
  /// It tries the host's numeric addresses one after the other.
  ///
  /// - Parameters:
  ///   - addresses: see ``resolve(_:)``.
  ///   - limit: for all addresses together; each gets its share of the time that is left.
  /// - Throws: ``ConnectError``.
  @LoopActor
  public static func connect(
    to host: String, at addresses: [String], port: Int, within limit: Duration
  ) async throws -> Int32 {
    let end = ContinuousClock.now + limit
    var cause = "it has no address"
    for (place, address) in addresses.enumerated() {
      let share = (end - .now) / (addresses.count - place)
      do {
        return try await ConnectAttempt(address, port).connected(within: share)
      } catch let error as ConnectError {
        cause = addresses.count == 1 ? error.cause : "\(error.cause) (\(address))"
      }
    }
    throw ConnectError(target: ServerAddress(host: host, port: port).description, cause: cause)
  }
}

/// One attempt at one address.
@LoopActor
private final class ConnectAttempt {
  private let target: String
  private let descriptor: Int32
  private var watcher: DescriptorWatcher?
  private var timer: LoopTimer?
  private var waiter: CheckedContinuation<Int32, any Error>?

  init(_ address: String, _ port: Int) throws {
    target = ServerAddress(host: address, port: port).description
    descriptor = try beginConnection(host: address, port: port)
  }

  func connected(within limit: Duration) async throws -> Int32 {
    try await withCheckedThrowingContinuation { waiter in
      self.waiter = waiter
      do {
        let watcher = try DescriptorWatcher(descriptor: descriptor) { _ in self.settle() }
        watcher.watch(.writable)
        self.watcher = watcher
      } catch {
        return end("\(error)")
      }
      let timer = LoopTimer { self.end("no connection in time") }
      timer.start(after: limit)
      self.timer = timer
    }
  }

  private func settle() {
    var code: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
    end(code == 0 ? nil : String(cString: strerror(code)))
  }

  private func end(_ failure: String?) {
    guard let waiter else { return }
    self.waiter = nil
    watcher?.close()
    timer?.close()
    // The watcher and the timer hold this object, and it held them.
    (watcher, timer) = (nil, nil)
    guard let failure else {
      var enabled: Int32 = 1
      setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &enabled, socklen_t(MemoryLayout<Int32>.size))
      return waiter.resume(returning: descriptor)
    }
    Glibc.close(descriptor)
    waiter.resume(throwing: ConnectError(target: target, cause: failure))
  }
}
