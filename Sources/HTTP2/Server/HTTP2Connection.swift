import Crypto
import EventLoop
import Glibc

/// One accepted connection: a non-blocking socket, TLS over memory, HTTP/2 over TLS.
@LoopActor
final class HTTP2Connection {
  private let configuration: HTTP2Server.Configuration
  private let handler: HTTP2Server.Handler
  private let onClose: @LoopActor (HTTP2Connection) -> Void
  private let scratch: Scratch

  private let descriptor: Int32
  private let tls: TLSSession
  private var watcher: DescriptorWatcher?
  /// There from the end of the handshake on.
  private var session: HTTP2Session?
  /// Encrypted bytes that the socket has not taken yet.
  private var unsent: [UInt8] = []
  private var isFlushDue = false
  private var isClosed = false
  private var idleSweeps = 0

  /// Takes over the descriptor, also when this throws.
  init(
    takingOwnershipOf descriptor: Int32, configuration: HTTP2Server.Configuration, scratch: Scratch,
    handler: @escaping HTTP2Server.Handler, onClose: @escaping @LoopActor (HTTP2Connection) -> Void
  ) throws {
    self.descriptor = descriptor
    self.configuration = configuration
    self.scratch = scratch
    self.handler = handler
    self.onClose = onClose
    do {
      tls = try TLSSession(accepting: configuration.tls)
      watcher = try DescriptorWatcher(descriptor: descriptor) { [weak self] in self?.handle($0) }
    } catch {
      Glibc.close(descriptor)
      throw error
    }
    watcher?.watch(.readable)
  }

  private func handle(_ readiness: Readiness) {
    if readiness.contains(.readable) { receive() }
    if readiness.contains(.writable) { flush() }
  }

  // MARK: Reading

  private func receive() {
    let count = recv(descriptor, scratch.received.bytes.baseAddress, scratch.received.bytes.count, 0)
    guard count > 0 else {
      if count < 0, errno == EAGAIN || errno == EINTR { return }
      return close()
    }
    idleSweeps = 0
    do {
      try tls.receive(UnsafeRawBufferPointer(rebasing: scratch.received.bytes[..<count]))
      if tls.isEstablished { try receivePlaintext() }
      scheduleFlush()
    } catch {
      // The peer learns why, as far as one write can carry it; the stand-in has nobody else to tell.
      sendWhatFits()
      close()
    }
  }

  private func receivePlaintext() throws {
    if session == nil { try startSession() }
    while true {
      let count = try tls.read(into: scratch.decrypted.bytes)
      guard count > 0 else { break }
      try session?.receive(UnsafeRawBufferPointer(rebasing: scratch.decrypted.bytes[..<count]))
    }
    if tls.isClosedByPeer { session?.terminate() }
  }

  private func startSession() throws {
    // A client without ALPN gets past OpenSSL's callback.
    guard tls.applicationProtocol == "h2" else {
      throw HTTP2ServerError(operation: "agree on a protocol", cause: "the client did not offer h2")
    }
    session = try HTTP2Session(
      maxConcurrentStreams: configuration.maxConcurrentStreams, maxRequestBytes: configuration.maxRequestBytes
    ) { [weak self, handler] stream, request in
      // Unstructured, because it starts in a C callback; the session holds it and cancels it with its stream.
      Task { @LoopActor in
        let response = await handler(request)
        self?.respond(response, on: stream)
      }
    }
  }

  private func respond(_ response: HTTP2Response, on stream: Int32) {
    session?.respond(response, on: stream)
    scheduleFlush()
  }

  // MARK: Writing

  /// Has everything that this turn of the loop produces sent by one write.
  private func scheduleFlush() {
    guard !isFlushDue, !isClosed else { return }
    isFlushDue = true
    EventLoop.process.atEndOfTurn { [weak self] in self?.flush() }
  }

  private func flush() {
    isFlushDue = false
    guard !isClosed else { return }
    do {
      // While the peer does not read, nothing is produced and nothing is read from it.
      let hasMore = unsent.isEmpty ? try produce() : true
      guard send() else { return close() }
      guard unsent.isEmpty else {
        watcher?.watch(.writable)
        return
      }
      if let session, session.isResetDue { return reset() }
      if let session, session.isFinished { return end() }
      watcher?.watch(hasMore ? [.readable, .writable] : .readable)
    } catch {
      close()
    }
  }

  /// Encrypts what there is to send, up to the limit of one write, and returns whether the limit cut it off.
  private func produce() throws -> Bool {
    scratch.plaintext.removeAll(keepingCapacity: true)
    try session?.takeBytesToSend(into: &scratch.plaintext, limit: bytesPerWrite)
    try scratch.plaintext.withUnsafeBytes { try tls.write($0) }
    tls.takeBytesToSend(into: &unsent)
    return scratch.plaintext.count >= bytesPerWrite
  }

  /// Returns whether the connection is still usable.
  private func send() -> Bool {
    guard !unsent.isEmpty else { return true }
    let count = unsent.withUnsafeBytes {
      Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
    }
    guard count >= 0 else { return errno == EAGAIN || errno == EINTR }
    if count > 0 { idleSweeps = 0 }
    unsent.removeFirst(count)
    return true
  }

  private func sendWhatFits() {
    guard unsent.isEmpty, (try? produce()) != nil else { return }
    _ = send()
  }

  // MARK: Ending

  /// Closes a connection on which nothing moved for two sweeps and no handler is at work.
  func sweep() {
    guard session?.isWaitingForHandlers != true else { return }
    idleSweeps += 1
    if idleSweeps > 2 { end() }
  }

  /// Says goodbye, as far as one write can carry it, and closes.
  func end() {
    guard !isClosed else { return }
    session?.terminate()
    sendWhatFits()
    tls.shutDown()
    tls.takeBytesToSend(into: &unsent)
    _ = send()
    close()
  }

  /// Makes the kernel send RST instead of FIN.
  private func reset() {
    var lingering = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &lingering, socklen_t(MemoryLayout<linger>.size))
    close()
  }

  private func close() {
    guard !isClosed else { return }
    isClosed = true
    watcher?.close()
    watcher = nil
    session?.close()
    session = nil
    Glibc.close(descriptor)
    onClose(self)
  }
}

/// Enough for some dozens of answers, and little enough that one slow reader costs little memory.
private let bytesPerWrite = 256 << 10
