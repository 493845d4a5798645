import CMicroHTTPD
public import EventLoop
import Glibc

/// An HTTP/1.1 server over libmicrohttpd, run by the process's loop through its epoll descriptor.
@LoopActor
public final class HTTPServer {
  /// Why the server does not take a body.
  public enum BodyRefusal: Sendable {
    /// It is longer than the limit of its path.
    case tooLong
    /// All large bodies together need too much memory now.
    case noRoom
  }

  /// Answers a request. The server calls it on the loop.
  public typealias Handler = @LoopActor (HTTPServerRequest) async -> HTTPServerResponse

  /// The server's port; 0 when it listens no more.
  public var port: Int { listener?.port ?? 0 }

  private let configuration: Configuration
  private let handler: Handler
  private let refuseBody: @LoopActor (Substring, BodyRefusal) -> HTTPServerResponse
  private var largeBodyMemory: [LargeBody.Room: Int] = [:]
  private var daemon: OpaquePointer?
  private var listener: Listener?
  private var connections = 0
  private var watcher: DescriptorWatcher?
  private var timer: LoopTimer?
  private var phase = Phase.open
  /// Sends the answers of one turn of the loop together.
  private lazy var runLater = EndOfTurn { [weak self] in self?.run() }
  /// The exchanges whose handler is running. libmicrohttpd has suspended their connections.
  private var running: [ObjectIdentifier: Exchange] = [:]
  private let idle = LoopSignal()
  private let unconnected = LoopSignal()

  private static let lingering = Duration.seconds(1)
  /// Memory for the head of an answer.
  ///
  /// It comes out of the same piece as the request's head. If nothing of it is left, libmicrohttpd does not send the
  /// answer. So the server must not carry out a request that left too little.
  private static let answerHeaderBytes = 4 << 10

  private enum Phase {
    case open
    /// The server takes no new connections, and each answer asks the client to close its own.
    case draining
    /// No request may wait any more.
    case stopping
  }

  /// Starts to listen and to answer.
  ///
  /// - Parameter refuseBody: the answer to a body that the server does not take, by its raw path. The server asks once
  ///   for a request.
  /// - Throws: ``ListenError``.
  public init(
    _ configuration: Configuration,
    refuseBody: @escaping @LoopActor (Substring, BodyRefusal) -> HTTPServerResponse = HTTPServer.refusal(of:_:),
    handler: @escaping Handler
  ) throws {
    self.configuration = configuration
    self.handler = handler
    self.refuseBody = refuseBody
    // Unretained is right: `close`, which must be called, stops the daemon before the server ends.
    let own = Unmanaged.passUnretained(self).toOpaque()
    daemon = countersign_mhd_start(
      UInt32(configuration.maxConnections), UInt32(max(1, configuration.idleTimeout.components.seconds)),
      configuration.maxHeaderBytes + Self.answerHeaderBytes, onTarget, onAccess, onCompleted, onConnection, onUnescape,
      own)
    guard let daemon else {
      throw ListenError(target: "\(configuration.host):\(configuration.port)", cause: "libmicrohttpd could not start")
    }
    do {
      // The server accepts connections itself: libmicrohttpd does not reliably listen again after it has reached its
      // limit.
      listener = try Listener(host: configuration.host, port: configuration.port) { [unowned self] in try take($0) }
      watcher = try DescriptorWatcher(descriptor: countersign_mhd_epoll_descriptor(daemon)) { [weak self] _ in
        self?.run()
      }
    } catch {
      listener?.close()
      MHD_stop_daemon(daemon)
      throw error
    }
    watcher?.watch(.readable)
    timer = LoopTimer { [weak self] in self?.run() }
    run()
  }

  /// Takes no more connections, lets the running requests finish within `grace`, and then closes everything.
  ///
  /// Connections without a request that are kept alive get up to a second of it. Their clients may be about to send a
  /// request, and its answer then asks them to close.
  public func close(grace: Duration = .seconds(5)) async {
    guard let daemon else { return }
    let deadline = ContinuousClock.now + grace
    phase = .draining
    listener?.close()
    listener = nil
    if connections > 0 { await unconnected.wait(atMost: min(grace, Self.lingering)) }
    if !running.isEmpty { await idle.wait(atMost: deadline - .now) }
    // libmicrohttpd must not stop with a suspended connection. So the callers that still wait are told to come again.
    phase = .stopping
    for exchange in running.values {
      exchange.response = Self.comeAgain
      MHD_resume_connection(exchange.connection)
    }
    running.removeAll()
    run()
    guard self.daemon != nil else { return }
    self.daemon = nil
    watcher?.close()
    watcher = nil
    timer?.close()
    timer = nil
    MHD_stop_daemon(daemon)
  }

  /// Lets libmicrohttpd do the work that is ready, and asks it for the time of its next call.
  private func run() {
    guard let daemon else { return }
    MHD_run(daemon)
    var milliseconds: UInt64 = 0
    if MHD_get_timeout(daemon, &milliseconds) == .YES {
      timer?.start(after: .milliseconds(Int64(min(milliseconds, 60_000))))
    } else {
      timer?.stop()
    }
  }

  // MARK: Connections

  /// Gives an accepted connection to libmicrohttpd.
  private func take(_ descriptor: Int32) throws {
    guard let daemon, countersign_mhd_add(daemon, descriptor) == .YES else {
      throw ListenError(target: "\(configuration.host):\(port)", cause: "libmicrohttpd took no further connection")
    }
    run()
  }

  fileprivate func count(_ change: Int) {
    connections += change
    if connections == 0 { unconnected.notify() }
    listener?.accepts(connections < configuration.maxConnections)
  }

  // MARK: One request

  /// Takes the head of a request.
  fileprivate func begin(_ exchange: Exchange, _ method: String) {
    exchange.readHead(method: method)
    let large = method == "POST" ? configuration.largeBody(exchange.rawPath) : nil
    exchange.room = large?.room
    exchange.maxBodyBytes = large?.maxBytes ?? configuration.maxBodyBytes
    if exchange.headerBytes > configuration.maxHeaderBytes {
      exchange.refuseHead()
    } else if let text = exchange.header("Content-Length"), let length = Int(text), length > exchange.maxBodyBytes {
      exchange.response = refuseBody(exchange.rawPath, .tooLong)
    } else if large != nil, let head = request(of: exchange, body: []) {
      // The body goes by unread: a client that still sends would lose an answer before its end.
      exchange.refusal = configuration.refuseHead(head)
    }
  }

  /// The request of an exchange; `nil` if its path or its query is malformed.
  private func request(of exchange: Exchange, body: [UInt8]) -> HTTPServerRequest? {
    guard let path = pathSegments(exchange.rawPath), let query = queryParameters(exchange.rawQuery) else { return nil }
    return HTTPServerRequest(
      method: exchange.method, path: path, query: query, headers: exchange.headers, body: body,
      clientAddress: exchange.clientAddress)
  }

  /// Takes a piece of the body.
  ///
  /// The server reads and forgets the bytes over the limit, since libmicrohttpd answers only at the end. Returning
  /// false closes the connection of a client that goes on and on.
  fileprivate func receive(_ piece: UnsafeRawBufferPointer, _ exchange: Exchange) -> Bool {
    exchange.received += piece.count
    if exchange.response == nil, exchange.refusal == nil {
      if exchange.received > exchange.maxBodyBytes {
        drop(exchange)
        exchange.response = refuseBody(exchange.rawPath, .tooLong)
      } else if let room = exchange.room,
        largeBodyMemory[room, default: 0] + piece.count > configuration.maxLargeBodyMemory[room, default: 0]
      {
        drop(exchange)
        exchange.response = refuseBody(exchange.rawPath, .noRoom)
      } else {
        take(piece, exchange)
      }
    }
    return exchange.received <= max(exchange.maxBodyBytes, configuration.maxBodyBytes * 16)
  }

  private func take(_ piece: UnsafeRawBufferPointer, _ exchange: Exchange) {
    if let room = exchange.room {
      largeBodyMemory[room, default: 0] += piece.count
      exchange.countedBytes += piece.count
    }
    exchange.body.append(contentsOf: piece)
  }

  /// Forgets the body of an exchange.
  fileprivate func drop(_ exchange: Exchange) {
    if let room = exchange.room { largeBodyMemory[room, default: 0] -= exchange.countedBytes }
    exchange.countedBytes = 0
    exchange.body = []
  }

  /// libmicrohttpd calls it when the body is complete, and again when the answer is there.
  fileprivate func answer(_ exchange: Exchange) -> MHD_Result {
    if let response = exchange.response ?? exchange.refusal { return send(response, on: exchange.connection) }
    guard let path = pathSegments(exchange.rawPath) else {
      return send(.text(400, "malformed path\n"), on: exchange.connection)
    }
    guard let query = queryParameters(exchange.rawQuery) else {
      return send(.text(400, "malformed query\n"), on: exchange.connection)
    }
    var onForget: (@LoopActor @Sendable () -> Void)?
    if exchange.room != nil {
      onForget = { [weak self, weak exchange] in
        if let exchange { self?.drop(exchange) }
      }
    }
    let request = HTTPServerRequest(
      method: exchange.method, path: path, query: query, headers: exchange.headers, body: exchange.body,
      clientAddress: exchange.clientAddress, onForget: onForget)
    exchange.body = []
    // In the very last run, a connection that was kept alive can still bring a request.
    if phase == .stopping { return send(Self.comeAgain, on: exchange.connection) }
    MHD_suspend_connection(exchange.connection)
    running[ObjectIdentifier(exchange)] = exchange
    Task { @LoopActor in
      let response = await handler(request)
      // The exchange is gone if the server was closed meanwhile.
      guard running.removeValue(forKey: ObjectIdentifier(exchange)) != nil else { return }
      exchange.response = response
      MHD_resume_connection(exchange.connection)
      runLater.plan()
      if running.isEmpty { idle.notify() }
    }
    return .YES
  }

  /// A plain answer to a body that the server does not take.
  public static func refusal(of _: Substring, _ reason: BodyRefusal) -> HTTPServerResponse {
    switch reason {
    case .tooLong: .text(413, "too large\n")
    case .noRoom: comeAgain
    }
  }

  private static let comeAgain = HTTPServerResponse(status: 503, headers: [("Retry-After", "1")])

  private func send(_ response: HTTPServerResponse, on connection: OpaquePointer) -> MHD_Result {
    guard let made = response.makeMHDResponse() else { return .NO }
    if phase != .open { MHD_add_response_header(made, "Connection", "close") }
    defer { MHD_destroy_response(made) }
    return MHD_queue_response(connection, UInt32(response.status), made)
  }
}

extension HTTPServerResponse {
  /// Makes libmicrohttpd's form of the answer, which the caller owns; `nil` without memory.
  ///
  /// The function is isolated to no actor. A closure of the loop asks at each call whether it runs there, even inside
  /// `withUnsafeBytes` and `withCString`.
  fileprivate func makeMHDResponse() -> OpaquePointer? {
    let made = body.withUnsafeBytes {
      // Only the type is mutable: with MUST_COPY, libmicrohttpd only reads the bytes.
      MHD_create_response_from_buffer($0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress), .RESPMEM_MUST_COPY)
    }
    guard let made else { return nil }
    for (name, value) in headers {
      // If the call got the Swift texts, Swift would copy each into an array first.
      _ = name.withCString { name in value.withCString { MHD_add_response_header(made, name, $0) } }
    }
    return made
  }
}

// The callbacks run on the loop, inside a call of the server to libmicrohttpd.

/// Begins an exchange as soon as the request line is there, and takes the query away from libmicrohttpd.
///
/// libmicrohttpd makes an entry for each parameter of the query. If its memory is full by then, it forgets its own
/// error (0.9.75), and the connection hangs until the idle timeout. An empty query needs no entry. It does not help to
/// overwrite the question mark alone: libmicrohttpd has found its place before this call, and reads from there to the
/// next zero. The call is meant for a log, but the bytes are libmicrohttpd's buffer, into which it writes zeros too.
///
/// libmicrohttpd passes the returned exchange to `onAccess`, or only to `onCompleted` if it rejects the head itself.
private func onTarget(
  _: UnsafeMutableRawPointer?, _ text: UnsafePointer<CChar>?, _ connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
  // A request line can lack its target.
  let target = text.map { String(cString: $0) } ?? ""
  if let text, let query = strchr(text, Int32(UInt8(ascii: "?"))) { memset(query, 0, strlen(query)) }
  // Only the loop uses the connection's pointer, before libmicrohttpd says that the request is completed.
  let exchange = LoopActor.assumeIsolated(with: (connection!, target)) { Exchange(connection: $0, target: $1) }
  return Unmanaged.passRetained(exchange).toOpaque()
}

private func onAccess(
  _ context: UnsafeMutableRawPointer?, _: OpaquePointer?, _: UnsafePointer<CChar>?,
  _ method: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _ bytes: UnsafePointer<CChar>?,
  _ size: UnsafeMutablePointer<Int>?, _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  let server = Unmanaged<HTTPServer>.fromOpaque(context!).takeUnretainedValue()
  let exchange = Unmanaged<Exchange>.fromOpaque(request!.pointee!).takeUnretainedValue()
  guard LoopActor.assumeIsolated(with: exchange, { $0.isBegun }) else {
    let method = String(cString: method!)
    // If an answer exists at this point, before the body, libmicrohttpd closes the connection after it.
    return LoopActor.assumeIsolated(with: (server, exchange, method)) { server, exchange, method in
      server.begin(exchange, method)
      if exchange.isRefused { return .NO }
      return exchange.response == nil ? .YES : server.answer(exchange)
    }
  }
  let count = size!.pointee
  guard count == 0 else {
    size!.pointee = 0
    let piece = UnsafeRawBufferPointer(start: bytes, count: count)
    return LoopActor.assumeIsolated(with: (server, piece, exchange)) { $0.receive($1, $2) } ? .YES : .NO
  }
  return LoopActor.assumeIsolated(with: (server, exchange)) { $0.answer($1) }
}

private func onCompleted(
  _ context: UnsafeMutableRawPointer?, _: OpaquePointer?, _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
  _ reason: MHD_RequestTerminationCode
) {
  guard let known = request!.pointee else { return }
  request!.pointee = nil
  let exchange = Unmanaged<Exchange>.fromOpaque(known).takeRetainedValue()
  let server = context.map { Unmanaged<HTTPServer>.fromOpaque($0).takeUnretainedValue() }
  LoopActor.assumeIsolated(with: (server, exchange)) { server, exchange in server?.drop(exchange) }
  // The socket is still open.
  if reason == .REQUEST_TERMINATED_WITH_ERROR { LoopActor.assumeIsolated { exchange.refuseCookies() } }
}

private func onConnection(
  _ context: UnsafeMutableRawPointer?, _: OpaquePointer?, _: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
  _ what: MHD_ConnectionNotificationCode
) {
  let server = Unmanaged<HTTPServer>.fromOpaque(context!).takeUnretainedValue()
  LoopActor.assumeIsolated { server.count(what == .CONNECTION_NOTIFY_STARTED ? 1 : -1) }
}

/// Leaves the path undecoded, because the server splits it before it decodes it.
private func onUnescape(_: UnsafeMutableRawPointer?, _: OpaquePointer?, _ text: UnsafeMutablePointer<CChar>?) -> Int {
  strlen(text!)
}
