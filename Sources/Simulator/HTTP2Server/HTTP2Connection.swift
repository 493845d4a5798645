import Crypto
import EventLoop
import HTTP2

/// One accepted connection: a non-blocking socket, TLS over memory, HTTP/2 over TLS.
@LoopActor
final class HTTP2Connection {
  private let configuration: HTTP2Server.Configuration
  private let number: Int
  private let handler: HTTP2Server.Handler
  private let onClose: @LoopActor (HTTP2Connection) -> Void
  private var socket: TLSSocket?
  /// `nil` before the end of the handshake.
  private var session: HTTP2Session?
  /// One write sends everything that one turn of the loop produces.
  private lazy var flushLater = EndOfTurn { [weak self] in self?.flush() }
  private var isClosed = false
  private var idleSweeps = 0

  /// Takes over the descriptor, also when this throws.
  ///
  /// - Parameter number: what its requests call it, from 1.
  init(
    takingOwnershipOf descriptor: Int32, number: Int, configuration: HTTP2Server.Configuration, scratch: Scratch,
    handler: @escaping HTTP2Server.Handler, onClose: @escaping @LoopActor (HTTP2Connection) -> Void
  ) throws {
    self.configuration = configuration
    self.number = number
    self.handler = handler
    self.onClose = onClose
    socket = try TLSSocket(
      takingOwnershipOf: descriptor, bytesPerWrite: 256 << 10, scratch, try TLSSession(accepting: configuration.tls)
    ) { [weak self] in
      self?.handle($0)
    }
    socket?.watch(.readable)
  }

  private func handle(_ readiness: Readiness) {
    if readiness.contains(.readable) { receive() }
    if readiness.contains(.writable) { flush() }
  }

  // MARK: Reading

  private func receive() {
    guard let socket else { return }
    do {
      guard try socket.receive() > 0 else { return }
      idleSweeps = 0
      if socket.tls.isEstablished { try readFrames(socket) }
      scheduleFlush()
    } catch {
      // The alert tells the peer the cause, as far as one write can carry it. The simulator reports it to nobody else.
      _ = try? socket.encrypt(fill)
      socket.sendAlert()
      close()
    }
  }

  private func readFrames(_ socket: TLSSocket) throws {
    if session == nil { try startSession(socket.tls) }
    try socket.read {
      try session?.receive($0)
      return true
    }
    if socket.tls.isClosedByPeer { session?.terminate() }
  }

  private func startSession(_ tls: TLSSession) throws {
    // A client without ALPN gets past OpenSSL's callback.
    guard tls.applicationProtocol == "h2" else {
      throw HTTP2SessionError(operation: "agree on a protocol", cause: "the client did not offer h2")
    }
    session = try HTTP2Session(
      maxConcurrentStreams: configuration.maxConcurrentStreams, maxRequestBytes: configuration.maxRequestBytes
    ) { [weak self, handler, number] stream, request in
      // The task is unstructured, because it starts in a C callback. The session holds it and cancels it with its
      // stream.
      var request = request
      request.connection = number
      return Task { @LoopActor [request] in
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

  private func scheduleFlush() {
    if !isClosed { flushLater.plan() }
  }

  private func flush() {
    flushLater.forget()
    guard !isClosed, let socket else { return }
    do {
      // While the peer does not read, the connection produces nothing and reads nothing from it.
      let hasMore = try socket.encrypt(fill)
      if try socket.send() > 0 { idleSweeps = 0 }
      guard !socket.hasUnsent else { return socket.watch(.writable) }
      if let session, session.isResetDue { return reset() }
      if let session, session.isFinished { return end() }
      socket.watch(hasMore ? [.readable, .writable] : .readable)
    } catch {
      close()
    }
  }

  private func fill(_ buffer: inout [UInt8], _ limit: Int) throws {
    try session?.takeBytesToSend(into: &buffer, limit: limit)
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
    socket?.sayGoodbye(fill)
    close()
  }

  /// Makes the kernel send RST instead of FIN.
  private func reset() {
    socket?.resetOnClose()
    close()
  }

  private func close() {
    guard !isClosed else { return }
    isClosed = true
    socket?.close()
    session?.close()
    (socket, session) = (nil, nil)
    onClose(self)
  }
}
