import CMicroHTTPD
public import EventLoop
import Formats
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

  /// The server's port; 0 when it no longer listens.
  public var port: Int { listener?.port ?? 0 }

  let configuration: Configuration
  private let handler: Handler
  let refuseBody: @LoopActor (Substring, BodyRefusal) -> HTTPServerResponse
  var rooms: [LargeBody.Room: BodyRoom] = [:]
  /// The large answers that their clients have not read to the end, by the numbers of their connections.
  var unreadAnswers: BodyRoom
  var places: ConnectionPlaces
  var stalls = StallWatch()
  /// All connections of libmicrohttpd, by their numbers.
  var connections: [Int: ServerConnection] = [:]
  /// The connection that the server is giving to libmicrohttpd, which calls back during the call.
  var admitted: (id: Int, peer: String?)?
  var daemon: OpaquePointer?
  var listener: Listener?
  private let begun = ContinuousClock.now
  var lastLookForAbandoned = Duration.zero
  private var sweeper: LoopTimer?
  private var watcher: DescriptorWatcher?
  private var timer: LoopTimer?
  private var phase = Phase.open
  private var turnTime = TurnTime()
  /// Sends the answers of one turn of the loop together.
  private(set) lazy var runLater = EndOfTurn { [weak self] in self?.run() }
  /// The exchanges whose handler is running. libmicrohttpd has suspended their connections.
  private var running: [ObjectIdentifier: Exchange] = [:]
  /// The exchanges whose answers are streams that have not ended.
  var streams: [ObjectIdentifier: Exchange] = [:]
  private let idle = LoopSignal()
  let unconnected = LoopSignal()
  /// The time of the connections' deadlines.
  var now: Duration { ContinuousClock.now - begun }

  private static let lingering = Duration.seconds(1)
  /// Memory for the head of an answer.
  ///
  /// It comes out of the same piece as the request's head. If nothing of it is left, libmicrohttpd does not send the
  /// answer. So the server must not carry out a request that left too little.
  private static let answerHeaderBytes = 4 << 10
  /// Connections that are cut, and that libmicrohttpd still counts until its next run.
  private static let connectionsOnTheirWayOut = 1024

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
    places = ConnectionPlaces(configuration.placeLimits)
    for (room, capacity) in configuration.maxLargeBodyMemory {
      rooms[room] = BodyRoom(BodyRoom.Limits(capacity: capacity, shares: configuration.largeBodyShares))
    }
    unreadAnswers = BodyRoom(
      BodyRoom.Limits(capacity: configuration.maxUnreadAnswerMemory, shares: configuration.largeBodyShares))
    // Unretained is right: `close`, which must be called, stops the daemon before the server ends.
    let own = Unmanaged.passUnretained(self).toOpaque()
    daemon = countersign_mhd_start(
      UInt32(configuration.maxConnections + Self.connectionsOnTheirWayOut),
      UInt32(max(1, configuration.idleTimeout.components.seconds)),
      configuration.maxHeaderBytes + Self.answerHeaderBytes, onTarget, onAccess, onCompleted, onConnection, onUnescape,
      own)
    guard let daemon else {
      throw ListenError(
        target: ServerAddress(host: configuration.host, port: configuration.port).description,
        cause: "libmicrohttpd could not start")
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
    sweeper = LoopTimer { [weak self] in self?.cutOverdue() }
    sweeper?.start(after: configuration.sweepInterval, every: configuration.sweepInterval)
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
    // The requests of those who came last must be running before the server looks who waits.
    turnTime = TurnTime()
    run()
    if !connections.isEmpty { await unconnected.wait(atMost: min(grace, Self.lingering)) }
    while !isIdle, deadline > .now { await idle.wait(atMost: deadline - .now) }
    // libmicrohttpd must not stop with a suspended connection. So the callers that still wait are told to come again.
    phase = .stopping
    for record in connections.values { record.unpark() }
    for exchange in running.values {
      exchange.response = Self.comeAgain
      MHD_resume_connection(exchange.connection)
    }
    running.removeAll()
    failStreams()
    // There may be no further turn.
    turnTime = TurnTime()
    run()
    guard self.daemon != nil else { return }
    self.daemon = nil
    watcher?.close()
    watcher = nil
    timer?.close()
    timer = nil
    sweeper?.close()
    sweeper = nil
    MHD_stop_daemon(daemon)
  }

  /// Lets libmicrohttpd do the work that is ready, and asks it for the time of its next call.
  ///
  /// A run takes one piece of each connection. Further runs follow at once, but only while ``TurnTime`` is left: a
  /// connection that stays ready although nothing becomes of it must not keep the loop from its descriptors.
  func run() {
    guard let daemon else { return }
    let isFirst = turnTime.begin(in: EventLoop.process.unfinishedTurn?.began)
    // The loop looks at its descriptors before it runs this timer.
    guard !turnTime.isOver else {
      timer?.start(after: .zero)
      return
    }
    var milliseconds: UInt64 = 0
    var hasTimeout: Bool
    repeat {
      let start = ContinuousClock.now
      MHD_run(daemon)
      turnTime.add(.now - start)
      hasTimeout = MHD_get_timeout(daemon, &milliseconds) == .YES
    } while hasTimeout && milliseconds == 0 && !turnTime.isOver
    let isBusy = hasTimeout && milliseconds == 0
    // A connection that is parked is suspended, and libmicrohttpd must not stop with one.
    if isFirst || !isBusy, stalls.endTurn(isBusy: isBusy), phase != .stopping { findStalled() }
    if hasTimeout {
      timer?.start(after: .milliseconds(Int64(min(max(milliseconds, 1), 60_000))))
    } else {
      timer?.stop()
    }
  }

  // MARK: One request

  /// Takes the head of a request.
  ///
  /// If it makes an answer at this point, before the body, libmicrohttpd closes the connection after it.
  fileprivate func begin(_ exchange: Exchange, _ method: String) -> MHD_Result {
    exchange.readHead(method: method)
    let framing = BodyFraming(exchange.headers)
    let large = method == "POST" ? configuration.largeBody(exchange.rawPath) : nil
    exchange.room = large?.room
    exchange.maxBodyBytes = large?.maxBytes ?? configuration.maxBodyBytes
    exchange.framing = framing
    enter(.body(received: 0), exchange.record)
    if exchange.headerBytes > configuration.maxHeaderBytes {
      exchange.refuseHead()
      return .NO
    }
    if let refusal = framing.refusal {
      configuration.onBodyRefused(.framing)
      return refuseAndClose(exchange, refusal)
    }
    if !admitsClient(of: exchange) {
      configuration.onCut(.addressShare)
      exchange.response = Self.tooMany
    } else if framing.isLonger(than: exchange.maxBodyBytes) {
      configuration.onBodyRefused(.tooLong)
      return refuseAndClose(exchange, refuseBody(exchange.rawPath, .tooLong))
    } else if let room = large?.room {
      exchange.response = refusal(of: exchange, in: room)
    }
    return .YES
  }

  /// Takes a piece of the body.
  ///
  /// The server reads and forgets the bytes over the limit, since libmicrohttpd answers only at the end, and a client
  /// that still sends would lose an earlier answer. Returning false closes the connection of a client that goes on and
  /// on.
  fileprivate func receive(_ piece: UnsafeRawBufferPointer, _ exchange: Exchange) -> Bool {
    exchange.received += piece.count
    places.receive(piece.count, exchange.record.id)
    if exchange.response == nil, !exchange.isAnsweredEarly {
      if exchange.received > exchange.maxBodyBytes {
        drop(exchange)
        configuration.onBodyRefused(.tooLong)
        exchange.response = refuseBody(exchange.rawPath, .tooLong)
      } else if !takesRoom(piece.count, exchange) {
        drop(exchange)
        exchange.response = refuseBody(exchange.rawPath, .noRoom)
      } else {
        exchange.body.append(contentsOf: piece)
      }
    }
    return exchange.received <= mostBodyBytesRead(exchange)
  }

  /// How much of a body the server reads, even if it forgets the bytes.
  private func mostBodyBytesRead(_ exchange: Exchange) -> Int {
    max(exchange.maxBodyBytes * 2, configuration.maxBodyBytes * 16)
  }

  /// Forgets the body of an exchange.
  func drop(_ exchange: Exchange) {
    if let room = exchange.room { rooms[room]?.end(exchange.record.id) }
    exchange.body = []
  }

  /// libmicrohttpd calls it when the body is complete, and again when the answer is there.
  fileprivate func answer(_ exchange: Exchange) -> MHD_Result {
    if exchange.isAnsweredEarly { return .NO }
    if let response = exchange.response { return send(response, exchange) }
    var onForget: (@LoopActor @Sendable () -> Void)?
    if let room = exchange.room {
      rooms[room]?.arrived(exchange.record.id)
      onForget = { [weak self, weak exchange] in
        if let exchange { self?.drop(exchange) }
      }
    }
    let request: HTTPServerRequest
    do {
      request = try exchange.request(onForget: onForget)
    } catch {
      return send(error.answer, exchange)
    }
    exchange.body = []
    // In the very last run, a connection that was kept alive can still bring a request.
    if phase == .stopping { return send(Self.comeAgain, exchange) }
    MHD_suspend_connection(exchange.connection)
    enter(.running, exchange.record)
    running[ObjectIdentifier(exchange)] = exchange
    Task { @LoopActor in
      let response = await handler(request)
      // The exchange is gone if the server was closed meanwhile.
      guard running.removeValue(forKey: ObjectIdentifier(exchange)) != nil else {
        response.stream?.leave()
        return
      }
      exchange.response = response
      if let stream = response.stream { begin(stream, exchange) }
      enter(.answering(bytes: response.body.count), exchange.record)
      MHD_resume_connection(exchange.connection)
      runLater.plan()
      tellIfIdle()
    }
    return .YES
  }

  /// Whether no handler works, and no answer is written any more.
  private var isIdle: Bool { running.isEmpty && streams.isEmpty }

  func tellIfIdle() { if isIdle { idle.notify() } }

  func send(_ full: HTTPServerResponse, _ exchange: Exchange) -> MHD_Result {
    let response = withRoom(full, exchange)
    // libmicrohttpd has a copy of its own until the client has read it.
    exchange.response = nil
    enter(.answering(bytes: response.body.count), exchange.record)
    let made = response.stream == nil ? response.makeMHDResponse() : makeStreamed(response, exchange)
    guard let made else { return .NO }
    if phase != .open || places.endsBehindAnswer(exchange.record.id) || isHeadOfStream(response, exchange) {
      MHD_add_response_header(made, "Connection", "close")
    }
    defer { MHD_destroy_response(made) }
    return MHD_queue_response(exchange.connection, UInt32(response.status), made)
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
/// libmicrohttpd passes the returned exchange to `onAccess`, or only to `onCompleted` if it rejects the head itself. If
/// it rejects a head twice, it tells nobody (0.9.75: cookies without room, and a wrong length). So the exchange
/// belongs to its connection, whose end it always tells.
private func onTarget(
  _ context: UnsafeMutableRawPointer?, _ text: UnsafePointer<CChar>?, _ connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
  // A request line can lack its target.
  let target = text.map { String(cString: $0) } ?? ""
  if let text, let query = strchr(text, Int32(UInt8(ascii: "?"))) { memset(query, 0, strlen(query)) }
  // Only the loop uses the connection's pointer, before libmicrohttpd says that the request is completed.
  let exchange = LoopActor.assumeIsolated(with: (context, connection!, target)) { context, connection, target in
    let server = Unmanaged<HTTPServer>.fromOpaque(context!).takeUnretainedValue()
    // Without memory for it, libmicrohttpd would not have begun the connection.
    let record = Unmanaged<ServerConnection>.fromOpaque(countersign_mhd_context(connection)!).takeUnretainedValue()
    server.enter(.head, record)
    let exchange = Exchange(record: record, target: target)
    record.held = exchange
    return exchange
  }
  return Unmanaged.passUnretained(exchange).toOpaque()
}

private func onAccess(
  _ context: UnsafeMutableRawPointer?, _: OpaquePointer?, _: UnsafePointer<CChar>?,
  _ method: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _ bytes: UnsafePointer<CChar>?,
  _ size: UnsafeMutablePointer<Int>?, _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  let server = Unmanaged<HTTPServer>.fromOpaque(context!).takeUnretainedValue()
  let exchange = Unmanaged<Exchange>.fromOpaque(request!.pointee!).takeUnretainedValue()
  if LoopActor.assumeIsolated(with: exchange, { $0.isOver }) { return .NO }
  guard LoopActor.assumeIsolated(with: exchange, { $0.isBegun }) else {
    let method = String(cString: method!)
    return LoopActor.assumeIsolated(with: (server, exchange, method)) { $0.begin($1, $2) }
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
  let exchange = Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
  let server = Unmanaged<HTTPServer>.fromOpaque(context!).takeUnretainedValue()
  LoopActor.assumeIsolated(with: (server, exchange)) { $0.complete($1) }
  // The socket is still open.
  if reason == .REQUEST_TERMINATED_WITH_ERROR { LoopActor.assumeIsolated { exchange.refuseCookies() } }
}

private func onConnection(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ kept: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ what: MHD_ConnectionNotificationCode
) {
  let server = Unmanaged<HTTPServer>.fromOpaque(context!).takeUnretainedValue()
  if what == .CONNECTION_NOTIFY_STARTED {
    let record = LoopActor.assumeIsolated(with: (server, connection!)) { $0.begin($1) }
    kept!.pointee = Unmanaged.passRetained(record).toOpaque()
  } else if let known = kept!.pointee {
    kept!.pointee = nil
    let record = Unmanaged<ServerConnection>.fromOpaque(known).takeRetainedValue()
    LoopActor.assumeIsolated(with: (server, record)) { $0.end($1) }
  }
}

/// Leaves the path undecoded, because the server splits it before it decodes it.
private func onUnescape(_: UnsafeMutableRawPointer?, _: OpaquePointer?, _ text: UnsafeMutablePointer<CChar>?) -> Int {
  strlen(text!)
}
