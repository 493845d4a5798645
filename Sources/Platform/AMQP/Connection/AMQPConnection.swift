import CRabbitMQ
public import EventLoop
public import Formats
import Transport

/// One connection to a broker. librabbitmq is the codec, and the process's loop does the rest.
///
/// It sends frames once a loop turn, and keeps the heartbeats itself.
@LoopActor
public final class AMQPConnection {
  /// The endpoint of this connection: only the node that it goes to.
  public let endpoint: AMQPEndpoint
  /// Whether the broker has raised an alarm and reads nothing from this process.
  public private(set) var isBlocked = false
  /// The connection calls this when ``isBlocked`` changes.
  public var onBlocked: (@LoopActor (Bool) -> Void)?
  /// The reason why the connection ended; `nil` while it is open.
  public private(set) var failure: AMQPError?

  private let socket: StreamSocket
  private let decoder = FrameDecoder(frameMax: AMQPLogin.frameMax)
  private var outgoing = FrameBuffer(frameMax: AMQPLogin.frameMax)
  /// The log-in that is under way.
  private var login: (state: AMQPLogin, waiter: CheckedContinuation<Void, any Error>)?
  private var heartbeat: LoopTimer?
  private var silenceLimit = Duration.zero
  private var lastReceived = ContinuousClock.now
  private var hasSent = false
  private var channels: [UInt16: AMQPChannel] = [:]
  private var nextChannel: UInt16 = 1
  private lazy var flushLater = EndOfTurn { [weak self] in self?.flush() }
  private var endWaiters: [CheckedContinuation<AMQPError, Never>] = []
  private var closeWaiter: CheckedContinuation<Void, Never>?

  /// Connects to one of the nodes and logs in.
  ///
  /// - Parameters:
  ///   - name: the broker shows it in its list of connections.
  ///   - failed: the node of the connection before. It is tried last.
  /// - Throws: ``AMQPError`` with code `unreachable` and the causes of all nodes.
  public static func open(
    _ endpoint: AMQPEndpoint, name: String, failed: ServerAddress? = nil
  ) async throws -> AMQPConnection {
    var random = SystemRandomNumberGenerator()
    var failures: [AMQPError] = []
    for node in endpoint.order(failed: failed, &random) {
      // The caller of `AMQPSession.stop()` waits for this.
      try Task.checkCancellation()
      var one = endpoint
      one.nodes = [node]
      do {
        return try await open(node, of: one, name: name)
      } catch let error as AMQPError {
        failures.append(error)
      }
    }
    guard failures.count > 1 else { throw failures[0] }
    throw AMQPError(
      .unreachable, operation: "connect", target: endpoint.description,
      cause: failures.map { "\($0.operation) at \($0.target): \($0.cause)" }.joined(separator: "; "))
  }

  private static func open(
    _ node: ServerAddress, of endpoint: AMQPEndpoint, name: String
  ) async throws -> AMQPConnection {
    let end = ContinuousClock.now + endpoint.connectTimeout
    let socket: StreamSocket
    do {
      socket = try await StreamSocket.open(
        to: node.host, port: node.port, tls: endpoint.tls, within: endpoint.connectTimeout)
    } catch let error as StreamError {
      throw AMQPError(
        .unreachable, operation: error.operation, target: endpoint.description, cause: error.cause)
    }
    // The buffer has room for the messages of one loop turn, so a turn seldom has to wait for room.
    socket.setSendBuffer(1 << 20)
    let connection = AMQPConnection(takingOwnershipOf: socket, endpoint)
    try await connection.logIn(name: name, within: max(.milliseconds(1), end - .now))
    return connection
  }

  private init(takingOwnershipOf socket: StreamSocket, _ endpoint: AMQPEndpoint) {
    self.endpoint = endpoint
    self.socket = socket
  }

  private func logIn(name: String, within limit: Duration) async throws {
    let state = AMQPLogin(to: endpoint, name: name)
    let timer = LoopTimer { [weak self] in self?.end(.unreachable, state.operation, "no answer in time") }
    timer.start(after: limit)
    defer { timer.close() }
    try await withCheckedThrowingContinuation { waiter in
      login = (state, waiter)
      socket.start(
        onReceive: { [weak self] in self?.receive($0) }, onRoom: { [weak self] in self?.flush() },
        onEnd: { [weak self] in self?.lost($0) })
      outgoing.addProtocolHeader()
      flush()
    }
  }

  /// Takes a step of the log-in.
  private func logIn(_ method: amqp_method_t) {
    guard var login else { return }
    let progress = login.state.receive(method, &outgoing)
    self.login = login
    flush()
    switch progress {
    case .goesOn: break
    case .failed(let cause): end(.unreachable, login.state.operation, cause)
    case .done(let agreement):
      decoder.frameMax = agreement.frameMax
      outgoing = FrameBuffer(frameMax: agreement.frameMax)
      keepAlive(every: agreement.heartbeat)
      self.login = nil
      login.waiter.resume()
    }
  }

  private func keepAlive(every seconds: Int) {
    guard seconds > 0 else { return }
    silenceLimit = .seconds(2 * seconds)
    let timer = LoopTimer { [weak self] in self?.keepAlive() }
    timer.start(after: .milliseconds(500 * seconds), every: .milliseconds(500 * seconds))
    heartbeat = timer
  }

  /// Opens a channel.
  ///
  /// - Throws: ``AMQPError``.
  public func openChannel() async throws -> AMQPChannel {
    // The connection may have ended since its log-in. Then nobody would end this channel, and its call would wait for
    // ever.
    if let failure { throw failure }
    let channel = AMQPChannel(number: nextChannel, of: self)
    channels[nextChannel] = channel
    nextChannel += 1
    var method = amqp_channel_open_t(out_of_band: amqp_bytes_t(len: 0, bytes: nil))
    try await channel.call("open a channel", AMQP_CHANNEL_OPEN_METHOD, &method, reply: AMQP_CHANNEL_OPEN_OK_METHOD)
    return channel
  }

  /// Suspends until the connection has ended and returns why.
  public func ended() async -> AMQPError {
    if let failure { return failure }
    return await withCheckedContinuation { endWaiters.append($0) }
  }

  /// Closes properly: the channels come first, so that the broker has taken every acknowledgement before the socket
  /// closes.
  ///
  /// If the broker does not answer within five seconds, as during an alarm, the connection closes without waiting
  /// longer.
  public func close() async {
    guard failure == nil else { return }
    let limit = LoopTimer { [weak self] in self?.end(.closed, "close", "no answer from the broker") }
    limit.start(after: .seconds(5))
    defer { limit.close() }
    for channel in channels.values { await channel.close() }
    guard failure == nil, closeWaiter == nil else { return }
    var method = amqp_connection_close_t()
    method.reply_code = 200
    await withCheckedContinuation { waiter in
      closeWaiter = waiter
      send(AMQP_CONNECTION_CLOSE_METHOD, channel: 0, &method)
    }
    end(.closed, "close", "closed by us")
  }

  // MARK: Sending

  /// Sends a method at the end of the loop's turn. It reads the arguments only during the call.
  func send<Method>(_ id: amqp_method_number_t, channel: UInt16, _ method: inout Method) {
    check(outgoing.add(id, channel: channel, &method))
    planFlush()
  }

  /// Sends a message at the end of the loop's turn. It reads the parts only during the call.
  func publish(
    channel: UInt16, _ method: inout amqp_basic_publish_t, _ properties: inout amqp_basic_properties_t, body: [UInt8]
  ) {
    let before = outgoing.bytes.count
    var status = outgoing.add(AMQP_BASIC_PUBLISH_METHOD, channel: channel, &method)
    if status == AMQP_STATUS_OK.rawValue {
      status = outgoing.add(channel: channel, &properties, body: body)
      if status != AMQP_STATUS_OK.rawValue { outgoing.truncate(to: before) }
    }
    check(status)
    planFlush()
  }

  private func planFlush() {
    if failure == nil { flushLater.plan() }
  }

  /// Sends as much as the socket takes. The rest follows when the socket has room.
  private func flush() {
    guard failure == nil else { return }
    outgoing.send(socket.send)
    hasSent = true
  }

  /// Tells the broker that this process lives, and finds out whether the broker does (AMQP 0-9-1, section 4.2.7).
  private func keepAlive() {
    // If this process was stopped for a while, the broker's frames wait in its socket. They prove that the broker
    // lives.
    if socket.hasInput { lastReceived = .now }
    guard ContinuousClock.now - lastReceived <= silenceLimit else {
      return end(.connectionLost, "receive", "no heartbeat from the broker for \(silenceLimit)")
    }
    if !hasSent, outgoing.isEmpty {
      outgoing.addHeartbeat()
      flush()
    }
    hasSent = false
  }

  private func check(_ status: Int32) {
    if status != AMQP_STATUS_OK.rawValue { end(.connectionLost, "send", statusText(status)) }
  }

  // MARK: Receiving

  /// Reads every frame that has arrived.
  private func receive(_ bytes: UnsafeRawBufferPointer) {
    lastReceived = .now
    var rest = bytes
    do {
      while failure == nil, let frame = try decoder.next(from: &rest) {
        if frame.channel == 0 {
          if Int32(frame.frame_type) == AMQP_FRAME_METHOD { receive(frame.payload.method) }
        } else {
          channels[frame.channel]?.receive(frame)
        }
      }
    } catch {
      lost("receive", error.cause)
    }
  }

  private func lost(_ error: StreamError) { lost(error.operation, error.cause) }

  private func lost(_ operation: String, _ cause: String) {
    if let login {
      end(.unreachable, login.state.operation, login.state.explained(cause))
    } else {
      end(.connectionLost, operation, cause)
    }
  }

  private func receive(_ method: amqp_method_t) {
    if login != nil { return logIn(method) }
    switch method.id {
    case AMQP_CONNECTION_BLOCKED_METHOD: setBlocked(true)
    case AMQP_CONNECTION_UNBLOCKED_METHOD: setBlocked(false)
    case AMQP_CONNECTION_CLOSE_OK_METHOD:
      closeWaiter?.resume()
      closeWaiter = nil
    case AMQP_CONNECTION_CLOSE_METHOD:
      let close = method.decoded.assumingMemoryBound(to: amqp_connection_close_t.self).pointee
      let cause = "\(close.reply_code) \(String(copying: close.reply_text))"
      var answer = amqp_connection_close_ok_t()
      send(AMQP_CONNECTION_CLOSE_OK_METHOD, channel: 0, &answer)
      flush()
      end(.connectionLost, "receive", cause)
    default: break
    }
  }

  private func setBlocked(_ blocked: Bool) {
    guard blocked != isBlocked else { return }
    isBlocked = blocked
    onBlocked?(blocked)
  }

  // MARK: The end

  /// Ends everything once: the socket, the channels, and the tasks that wait for the end.
  func end(_ code: AMQPError.Code, _ operation: String, _ cause: String) {
    guard failure == nil else { return }
    let failure = AMQPError(code, operation: operation, target: endpoint.description, cause: cause)
    self.failure = failure
    heartbeat?.close()
    heartbeat = nil
    socket.close()
    login?.waiter.resume(throwing: failure)
    login = nil
    for channel in channels.values { channel.end(failure) }
    channels.removeAll()
    closeWaiter?.resume()
    closeWaiter = nil
    for waiter in endWaiters { waiter.resume(returning: failure) }
    endWaiters.removeAll()
  }

  func forget(_ channel: AMQPChannel) { channels[channel.number] = nil }
}
