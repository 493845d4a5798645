import Crypto
public import EventLoop
import Glibc

/// One connection to a server over TCP, with or without TLS.
///
/// It never waits: it takes as many bytes as the socket takes, and says when there is room for more. Its owner keeps
/// the rest. Close it before you release the last reference.
@LoopActor
public final class StreamSocket {
  /// Host and port of the server.
  public let target: String

  private let descriptor: Int32
  private var watcher: DescriptorWatcher?
  private let tls: TLSSession?
  private var handshake: CheckedContinuation<Void, any Error>?
  private var handlers: Handlers?
  private var hasEnded = false
  /// Why the socket takes no more bytes.
  private var sendFailure: String?
  private lazy var drainLater = EndOfTurn { [weak self] in self?.drain() }
  /// Whether the socket takes no more bytes now.
  private var isFull = false {
    didSet { watcher?.watch(isFull ? [.readable, .writable] : .readable) }
  }

  private struct Handlers {
    let onReceive: @LoopActor (UnsafeRawBufferPointer) -> Void
    let onRoom: @LoopActor () -> Void
    let onEnd: @LoopActor (StreamError) -> Void
  }

  // All sockets share these: the owner reads the bytes before it returns.
  private static let received = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 17, alignment: 16)
  private static let decrypted = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 17, alignment: 16)

  /// Takes over the descriptor of a connected socket, even if it throws.
  init(
    takingOwnershipOf descriptor: Int32, target: String, _ tls: TLSSession?, at place: StaticString = #fileID
  ) throws {
    self.descriptor = descriptor
    self.target = target
    self.tls = tls
    do {
      watcher = try DescriptorWatcher(descriptor: descriptor, at: place) { [weak self] in self?.ready($0) }
    } catch {
      Glibc.close(descriptor)
      throw StreamError(operation: "connect", target: target, cause: "\(error)")
    }
  }

  /// Shakes hands over TLS.
  ///
  /// - Throws: ``StreamError``.
  func shakeHands(within limit: Duration) async throws {
    let timer = LoopTimer { [weak self] in self?.end("shake hands over TLS", "no answer in time") }
    timer.start(after: limit)
    defer { timer.close() }
    try await withCheckedThrowingContinuation { waiter in
      handshake = waiter
      watcher?.watch(.readable)
      sendEncrypted()
    }
  }

  /// Begins to read.
  ///
  /// - Parameters:
  ///   - onReceive: the socket calls it with the bytes that have come. They are valid only during the call.
  ///   - onRoom: the socket calls it when it takes bytes again, after ``send(_:)`` has taken only a part.
  ///   - onEnd: the socket calls it once, when the connection ends without ``close()``.
  public func start(
    onReceive: @escaping @LoopActor (UnsafeRawBufferPointer) -> Void, onRoom: @escaping @LoopActor () -> Void,
    onEnd: @escaping @LoopActor (StreamError) -> Void
  ) {
    handlers = Handlers(onReceive: onReceive, onRoom: onRoom, onEnd: onEnd)
    guard !hasEnded else { return }
    watcher?.watch(isFull ? [.readable, .writable] : .readable)
    // The server's first bytes may have come with the end of its handshake.
    if tls != nil { deliver() }
  }

  /// Asks the system for a larger buffer of sent bytes.
  public func setSendBuffer(_ bytes: Int) {
    var size = Int32(clamping: bytes)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Whether bytes of the server wait to be read.
  public var hasInput: Bool {
    guard !hasEnded else { return false }
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&waiting, 1, 0) == 1
  }

  /// Closes the connection. A second call does nothing.
  public func close() {
    guard !hasEnded else { return }
    if let tls, sendFailure == nil {
      tls.shutDown()
      sendEncrypted()
    }
    release()
  }

  // MARK: Sending

  /// Sends as many bytes as the socket takes, and returns their number. It calls no handler.
  public func send(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard !hasEnded, !isFull else { return 0 }
    guard let tls else { return write(bytes) }
    var taken = 0
    // One piece at a time, or a large message would be in memory twice.
    while taken < bytes.count, !isFull {
      let piece = bytes[taken..<min(taken + (1 << 17), bytes.count)]
      do {
        try tls.write(UnsafeRawBufferPointer(rebasing: piece))
      } catch {
        fail(error.cause)
        break
      }
      taken += piece.count
      sendEncrypted()
    }
    return taken
  }

  private func write(_ bytes: UnsafeRawBufferPointer) -> Int {
    while true {
      let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
      let code = errno
      if count == bytes.count { return count }
      if count < 0, code == EINTR { continue }
      if count < 0, code != EAGAIN { fail(String(cString: strerror(code))) }
      isFull = true
      return max(0, count)
    }
  }

  /// Sends what TLS has to say. The rest follows when the socket has room.
  private func sendEncrypted() {
    guard !isFull else { return }
    tls?.offerBytesToSend(write)
  }

  /// Ends the connection at the end of the turn. The server may have said why before it hung up, so the socket first
  /// reads all that has come.
  private func fail(_ cause: String) {
    guard sendFailure == nil else { return }
    sendFailure = cause
    isFull = true
    drainLater.plan()
  }

  private func drain() {
    while !hasEnded, receive() {}
    if let sendFailure { end("send", sendFailure) }
  }

  // MARK: Receiving

  private func ready(_ readiness: Readiness) {
    if readiness.contains(.readable) { receive() }
    guard readiness.contains(.writable), !hasEnded, sendFailure == nil else { return }
    isFull = false
    sendEncrypted()
    if !isFull, handshake == nil { handlers?.onRoom() }
  }

  /// Reads once, and returns whether bytes came.
  @discardableResult
  private func receive() -> Bool {
    let count = recv(descriptor, Self.received.baseAddress, Self.received.count, 0)
    let code = errno
    if count < 0, code == EAGAIN || code == EINTR { return false }
    guard count > 0 else {
      let cause = count == 0 ? "the server closed the connection" : String(cString: strerror(code))
      end(handshake == nil ? "receive" : "shake hands over TLS", cause)
      return false
    }
    let bytes = UnsafeRawBufferPointer(rebasing: Self.received[..<count])
    guard let tls else {
      handlers?.onReceive(bytes)
      return true
    }
    do {
      try tls.receive(bytes)
    } catch {
      sendEncrypted()  // the alert that tells the server why
      end("shake hands over TLS", error.cause)
      return false
    }
    sendEncrypted()
    if tls.isEstablished, let handshake {
      // Nothing may be lost before ``start(onReceive:onRoom:onEnd:)``, not even the end.
      watcher?.watch([])
      self.handshake = nil
      handshake.resume()
    } else if handlers != nil {
      deliver()
    }
    return true
  }

  /// Gives the owner everything that TLS has decrypted.
  private func deliver() {
    while let tls, !hasEnded {
      var count = 0
      var failure: CryptoError?
      do {
        while count < Self.decrypted.count {
          let more = try tls.read(into: UnsafeMutableRawBufferPointer(rebasing: Self.decrypted[count...]))
          guard more > 0 else { break }
          count += more
        }
      } catch {
        failure = error
      }
      if count > 0 { handlers?.onReceive(UnsafeRawBufferPointer(rebasing: Self.decrypted[..<count])) }
      guard !hasEnded else { return }
      sendEncrypted()  // an answer of TLS itself, such as a new key
      if let failure { return end("receive", failure.cause) }
      if tls.isClosedByPeer { return end("receive", "the server closed the connection") }
      if count < Self.decrypted.count { return }
    }
  }

  // MARK: The end

  private func end(_ operation: String, _ cause: String) {
    guard !hasEnded else { return }
    let handlers = handlers
    release()
    let error = StreamError(operation: operation, target: target, cause: cause)
    if let handshake {
      self.handshake = nil
      handshake.resume(throwing: error)
    } else {
      handlers?.onEnd(error)
    }
  }

  private func release() {
    hasEnded = true
    handlers = nil
    watcher?.close()
    watcher = nil
    Glibc.close(descriptor)
  }
}
