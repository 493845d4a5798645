import Crypto
import EventLoop
import Glibc
import HTTP

/// One connection to a server: a non-blocking socket, TLS over memory, HTTP/2 over TLS.
@LoopActor
final class HTTP2ClientConnection {
  // Unowned is right: the origin closes its connections before it ends, and a closed connection asks it nothing.
  private unowned let origin: HTTP2Origin
  private let scratch: Scratch

  /// The socket; `nil` until the server has taken the connection.
  private var socket: TLSSocket?
  /// The session; `nil` until the end of the handshake.
  private var session: HTTP2ClientSession?
  private var openingTimer: LoopTimer?
  /// Sends everything that one turn of the loop produces by one write.
  private lazy var flushLater = EndOfTurn { [weak self] in self?.flush() }
  private var isRetired = false
  private var isClosed = false
  private var received = 0
  private let created = ContinuousClock.now
  private var lastReceived = ContinuousClock.now

  init(_ origin: HTTP2Origin, _ scratch: Scratch) {
    self.origin = origin
    self.scratch = scratch
  }

  /// Whether the handshake is complete.
  var isOpen: Bool { session != nil }

  /// Whether it is worth waiting for its opening. A connection that takes longer than usual may not open at all.
  var isAboutToOpen: Bool { !isOpen && .now - created < Self.usualOpening }

  /// A time that is longer than a handshake takes.
  static let usualOpening = Duration.seconds(1)

  /// How many requests are on the way.
  var inFlight: Int { session?.inFlight ?? 0 }

  /// How many requests the connection takes at a time.
  var limit: Int { isRetired ? 0 : session?.limit ?? 0 }

  /// Whether the connection takes no further requests, and only ends its present ones.
  var isDraining: Bool { isOpen && limit == 0 }

  /// Whether the server has sent a frame. Its settings come first (RFC 9113, section 3.4).
  private(set) var hasSettings = false

  /// How many more requests the connection takes now.
  var room: Int { isRetired ? 0 : session?.room ?? 0 }

  /// Whether it has been without a request for so long that routers may have forgotten it. The limit is libcurl's.
  var isStale: Bool { isOpen && inFlight == 0 && .now - lastReceived > .seconds(118) }

  // MARK: Opening

  func open(to host: String, _ port: Int, within limit: Duration, _ context: TLSClientContext) {
    let openingTimer = LoopTimer { [weak self] in
      self?.close(.unreachable, "no connection within \(limit.wholeMilliseconds) ms")
    }
    openingTimer.start(after: limit)
    self.openingTimer = openingTimer
    // The task is unstructured: many requests wait for the connection, and it outlives them.
    Task { @LoopActor in
      // If the connection was closed before this task ran, the origin may be gone with the client.
      guard !isClosed else { return }
      do {
        let addresses = try await origin.resolve()
        guard !isClosed else { return }
        let descriptor = try await EventLoop.connect(to: host, at: addresses, port: port, within: limit)
        connected(descriptor, host, context)
      } catch {
        close(.unreachable, "\(error)")
      }
    }
  }

  private func connected(_ descriptor: Int32, _ host: String, _ context: TLSClientContext) {
    guard !isClosed else {
      Glibc.close(descriptor)
      return
    }
    do {
      socket = try TLSSocket(
        takingOwnershipOf: descriptor, bytesPerWrite: 64 << 10, scratch, try TLSSession(connecting: context, to: host)
      ) { [weak self] in
        self?.handle($0)
      }
      flush()
    } catch {
      close(.tls, "\(error)")
    }
  }

  private func startSession(_ tls: TLSSession) throws {
    openingTimer?.close()
    openingTimer = nil
    guard tls.applicationProtocol == "h2" else { return origin.fallBackToHTTP1(self) }
    session = try HTTP2ClientSession()
    origin.dispatch()
  }

  // MARK: Requests

  /// Sends a request with all others of this turn of the loop. Returns false when the connection takes no more.
  func submit(_ call: HTTP2Call, userAgent: String) -> Bool {
    guard !isRetired, let session, session.submit(call, userAgent: userAgent) else { return false }
    call.begin(on: self, received: received)
    scheduleFlush()
    return true
  }

  /// Takes back a request whose caller waits no longer.
  func cancel(_ call: HTTP2Call) {
    session?.cancel(call)
    scheduleFlush()
    // The server may be gone. The next caller must not wait that long to find out.
    if call.receivedBefore == received { isRetired = true }
    closeIfDone()
  }

  private func handle(_ readiness: Readiness) {
    if readiness.contains(.readable) { receive() }
    if readiness.contains(.writable) { flush() }
  }

  // MARK: Reading

  private func receive() {
    guard let socket else { return }
    do {
      let count = try socket.receive()
      guard count > 0 else { return }
      received += count
      lastReceived = .now
      if socket.tls.isEstablished { try readFrames(socket) }
    } catch let error as ConnectionLost {
      return close(isOpen ? .interrupted : .unreachable, "\(error)")
    } catch let error as CryptoError {
      socket.sendAlert()
      return close(isOpen ? .interrupted : .tls, "\(error)")
    } catch {
      return close(.interrupted, "\(error)")
    }
    guard !isClosed else { return }
    settle()
    if socket.tls.isClosedByPeer { return close(.interrupted, "the peer closed the connection") }
    if session?.hasBytesToSend ?? true { scheduleFlush() }
  }

  private func readFrames(_ socket: TLSSocket) throws {
    if session == nil { try startSession(socket.tls) }
    guard !isClosed else { return }
    try socket.read {
      hasSettings = true
      try session?.receive($0)
      return !isClosed
    }
  }

  /// Answers the callers of the requests that have ended.
  private func settle() {
    guard let ended = session?.takeEnded(), !ended.isEmpty else { return closeIfDone() }
    answer(ended)
    origin.dispatch()
    closeIfDone()
  }

  private func answer(_ ended: [(call: HTTP2Call, ending: HTTP2ClientSession.Ending)]) {
    for (call, ending) in ended {
      switch ending {
      case .answered: call.succeed()
      case .tooLarge: call.failAsTooLarge()
      case .needsHTTP1: call.failForHTTP1()
      case .refused: origin.sendAgain(call, else: "the server refused the stream")
      case .reset(let code):
        call.fail(.interrupted, "the server reset the stream with error \(code) (RFC 9113, section 7)")
      }
    }
  }

  // MARK: Writing

  private func scheduleFlush() {
    if !isClosed { flushLater.plan() }
  }

  private func flush() {
    // The origin of a closed connection may be gone.
    guard !isClosed else { return }
    // The requests of this turn go out with this write and need no second write.
    origin.dispatch()
    flushLater.forget()
    guard !isClosed, let socket else { return }
    do {
      var hasMore: Bool
      repeat {
        hasMore = try socket.encrypt(fill)
        try socket.send()
      } while hasMore && !socket.hasUnsent
    } catch {
      return close(isOpen ? .interrupted : .unreachable, "\(error)")
    }
    socket.watch(socket.hasUnsent ? [.readable, .writable] : .readable)
    settle()
  }

  private func fill(_ buffer: inout [UInt8], _ limit: Int) throws {
    try session?.takeBytesToSend(into: &buffer, limit: limit)
  }

  // MARK: Ending

  /// Closes the connection if it takes no more requests and the last one has ended, or if its protocol was broken.
  private func closeIfDone() {
    guard !isClosed, let session else { return }
    // It does not matter if bytes are still unsent: this side does not wait for a peer that reads nothing.
    if session.inFlight == 0, room == 0 { return end() }
    if socket?.hasUnsent != true, session.isFinished { close(.interrupted, "the session of HTTP/2 has ended") }
  }

  /// Says goodbye, as far as one write can carry it, and closes. Callers that still wait get `cancelled`.
  func end() {
    guard !isClosed else { return }
    session?.terminate()
    socket?.sayGoodbye(fill)
    close(.cancelled, "the client is closed")
  }

  /// Closes at once.
  ///
  /// If the server had closed the connection before a request went out on it, the origin sends that request again on
  /// another connection. The other requests fail.
  func close(_ code: HTTPClientError.Code, _ cause: String) {
    guard !isClosed else { return }
    isClosed = true
    let wasOpen = isOpen
    openingTimer?.close()
    socket?.close()
    // These requests have ended, but their callers do not know it yet: their answers came together with the failure.
    let ended = session?.takeEnded() ?? []
    let calls = session?.abandon() ?? []
    (openingTimer, socket, session) = (nil, nil, nil)
    origin.forget(self)
    answer(ended)
    for call in calls {
      let isInVain = received > 0 && call.receivedBefore == received && call.isIdempotent
      if code == .interrupted, isInVain {
        origin.sendAgain(call, else: cause)
      } else {
        call.fail(code, cause)
      }
    }
    if wasOpen { origin.dispatch() } else { origin.openingFailed(code, cause) }
  }
}
