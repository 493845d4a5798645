import CRabbitMQ
public import EventLoop
import Glibc

/// One connection to a broker. librabbitmq is the codec, and the process's loop does the rest.
///
/// librabbitmq 0.11 blocks in every synchronous call, writes each frame at once, and sends heartbeats only while one of
/// its functions runs. So only the log-in uses its synchronous calls, on a thread of the pool. Afterwards librabbitmq
/// only encodes and decodes. This type does the sending, once a loop turn, and the heartbeats.
@LoopActor
public final class AMQPConnection {
  /// The endpoint of this connection.
  public let endpoint: AMQPEndpoint
  /// Whether the broker has raised an alarm and reads nothing from this process.
  public private(set) var isBlocked = false
  /// The connection calls this when ``isBlocked`` changes.
  public var onBlocked: (@LoopActor (Bool) -> Void)?
  /// The reason why the connection ended; `nil` while it is open.
  public private(set) var failure: AMQPError?

  private var state: OpaquePointer?
  private var watcher: DescriptorWatcher?
  private var heartbeat: LoopTimer?
  private let silenceLimit: Duration
  private var lastReceived = ContinuousClock.now
  private var hasSent = false
  private var channels: [UInt16: AMQPChannel] = [:]
  private var nextChannel: UInt16 = 1
  private var outgoing: FrameBuffer
  private lazy var flushLater = EndOfTurn { [weak self] in self?.flush() }
  private var endWaiters: [CheckedContinuation<AMQPError, Never>] = []
  private var closeWaiter: CheckedContinuation<Void, Never>?

  /// Connects and logs in.
  ///
  /// - Parameter name: the broker shows it in its list of connections.
  /// - Throws: ``AMQPError`` with code `unreachable`.
  public static func open(_ endpoint: AMQPEndpoint, name: String) async throws -> AMQPConnection {
    let loggedIn = try await EventLoop.offload { try endpoint.logIn(name: name) }
    return try AMQPConnection(takingOwnershipOf: loggedIn.state, endpoint)
  }

  private init(takingOwnershipOf state: OpaquePointer, _ endpoint: AMQPEndpoint) throws {
    self.endpoint = endpoint
    outgoing = FrameBuffer(frameMax: Int(amqp_get_frame_max(state)))
    let seconds = amqp_get_heartbeat(state)
    silenceLimit = .seconds(2 * Int64(seconds))
    // librabbitmq's own heartbeats would come between two halves of this connection's frames.
    amqp_tune_connection(state, amqp_get_channel_max(state), amqp_get_frame_max(state), 0)
    do {
      let watcher = try DescriptorWatcher(descriptor: amqp_get_sockfd(state)) { [weak self] in self?.ready($0) }
      self.watcher = watcher
    } catch {
      amqp_destroy_connection(state)
      throw AMQPError(.unreachable, operation: "connect", target: endpoint.description, cause: "\(error)")
    }
    self.state = state
    watcher?.watch(.readable)
    guard seconds > 0 else { return }
    let timer = LoopTimer { [weak self] in self?.keepAlive() }
    timer.start(after: .milliseconds(500 * Int64(seconds)), every: .milliseconds(500 * Int64(seconds)))
    heartbeat = timer
  }

  /// Opens a channel.
  ///
  /// - Throws: ``AMQPError``.
  public func openChannel() async throws -> AMQPChannel {
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
    if state != nil { flushLater.plan() }
  }

  /// Sends as much as the socket takes. The rest follows when the socket is writable.
  private func flush() {
    guard let state else { return }
    let descriptor = amqp_get_sockfd(state)
    var failure: Int32?
    outgoing.send { bytes in
      while true {
        let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        if count >= 0 { return count }
        if errno == EINTR { continue }
        if errno != EAGAIN { failure = errno }
        return 0
      }
    }
    hasSent = true
    if let failure { return end(.connectionLost, "send", String(cString: strerror(failure))) }
    watcher?.watch(outgoing.isEmpty ? .readable : [.readable, .writable])
  }

  /// Tells the broker that this process lives, and finds out whether the broker does (AMQP 0-9-1, section 4.2.7).
  private func keepAlive() {
    guard let state else { return }
    // If this process was stopped for a while, the broker's frames wait in its socket. They prove that the broker
    // lives.
    var descriptor = pollfd(fd: amqp_get_sockfd(state), events: Int16(POLLIN), revents: 0)
    if poll(&descriptor, 1, 0) == 1 { lastReceived = .now }
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

  private func ready(_ readiness: Readiness) {
    if readiness.contains(.writable) { flush() }
    if readiness.contains(.readable) { receive() }
  }

  // MARK: Receiving

  /// Reads every frame that has arrived.
  private func receive() {
    lastReceived = .now
    while let state {
      var frame = amqp_frame_t()
      var noWait = timeval(tv_sec: 0, tv_usec: 0)
      let status = amqp_simple_wait_frame_noblock(state, &frame, &noWait)
      if status == AMQP_STATUS_TIMEOUT.rawValue { break }
      guard status == AMQP_STATUS_OK.rawValue else { return end(.connectionLost, "receive", statusText(status)) }
      if frame.channel == 0 {
        if frame.frame_type == AMQP_FRAME_METHOD { receive(frame.payload.method) }
      } else {
        channels[frame.channel]?.receive(frame)
      }
      // The code above has copied everything of the frame.
      if let state = self.state { amqp_maybe_release_buffers_on_channel(state, frame.channel) }
    }
  }

  private func receive(_ method: amqp_method_t) {
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

  /// Ends everything once: the handle, the channels, and the tasks that wait for the end.
  func end(_ code: AMQPError.Code, _ operation: String, _ cause: String) {
    guard failure == nil else { return }
    let failure = AMQPError(code, operation: operation, target: endpoint.description, cause: cause)
    self.failure = failure
    watcher?.close()
    watcher = nil
    heartbeat?.close()
    heartbeat = nil
    if let state {
      self.state = nil
      amqp_destroy_connection(state)
    }
    for channel in channels.values { channel.end(failure) }
    channels.removeAll()
    closeWaiter?.resume()
    closeWaiter = nil
    for waiter in endWaiters { waiter.resume(returning: failure) }
    endWaiters.removeAll()
  }

  func forget(_ channel: AMQPChannel) { channels[channel.number] = nil }
}
