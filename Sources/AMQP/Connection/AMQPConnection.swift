import CRabbitMQ
public import EventLoop
import Glibc

/// One connection to a broker: librabbitmq as the codec, the process's loop for everything else.
///
/// librabbitmq 0.11 blocks in every synchronous call and sends heartbeats only while one of its functions runs. So
/// only the log-in uses its synchronous calls, on a pool thread; afterwards methods are sent with
/// `amqp_send_method` and their answers are read as frames, and a timer keeps the heartbeats.
@LoopActor
public final class AMQPConnection {
  /// The endpoint this connection was opened to.
  public let endpoint: AMQPEndpoint
  /// Whether the broker has raised an alarm and reads nothing from us.
  public private(set) var isBlocked = false
  /// Called when ``isBlocked`` changes.
  public var onBlocked: (@LoopActor (Bool) -> Void)?
  /// Why the connection ended, once it has.
  public private(set) var failure: AMQPError?

  private var state: OpaquePointer?
  private var watcher: DescriptorWatcher?
  private var heartbeat: LoopTimer?
  private var channels: [UInt16: AMQPChannel] = [:]
  private var nextChannel: UInt16 = 1
  /// What could not be sent yet because the socket is full; sent in order as soon as it is writable.
  private var outbox: [(OpaquePointer) -> Int32] = []
  private var endWaiters: [CheckedContinuation<AMQPError, Never>] = []
  private var closeWaiter: CheckedContinuation<Void, Never>?

  /// Connects and logs in.
  ///
  /// - Parameter name: shown in the broker's list of connections.
  /// - Throws: ``AMQPError`` with code `unreachable`.
  public static func open(_ endpoint: AMQPEndpoint, name: String) async throws -> AMQPConnection {
    let loggedIn = try await EventLoop.offload { try endpoint.logIn(name: name) }
    return try AMQPConnection(takingOwnershipOf: loggedIn.state, endpoint)
  }

  private init(takingOwnershipOf state: OpaquePointer, _ endpoint: AMQPEndpoint) throws {
    self.endpoint = endpoint
    do {
      let watcher = try DescriptorWatcher(descriptor: amqp_get_sockfd(state)) { [weak self] in self?.ready($0) }
      self.watcher = watcher
    } catch {
      amqp_destroy_connection(state)
      throw AMQPError(.unreachable, operation: "connect", target: endpoint.description, cause: "\(error)")
    }
    self.state = state
    watcher?.watch(.readable)
    // librabbitmq looks at its clocks whenever it is asked for a frame; twice a second is often enough.
    let timer = LoopTimer { [weak self] in self?.receive() }
    timer.start(after: .milliseconds(500), every: .milliseconds(500))
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

  /// Closes properly: channels first, so that the broker has taken every acknowledgement before the socket goes.
  ///
  /// A broker that does not answer within five seconds, as during an alarm, is left without a farewell.
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

  /// Sends a method, whose arguments are only read during the call. When the socket takes nothing, the broker has
  /// stopped reading for long, and the connection is ended.
  func send<Method>(_ id: amqp_method_number_t, channel: UInt16, _ method: inout Method) {
    if outbox.isEmpty, isWritable, let state {
      check(withUnsafeMutablePointer(to: &method) { amqp_send_method(state, channel, id, $0) })
    } else {
      end(.connectionLost, "send a method", "the broker stopped reading")
    }
  }

  /// Runs `operation` on the handle now, or later when the socket is full: then the broker has stopped reading.
  func transmit(_ operation: @escaping (OpaquePointer) -> Int32) {
    guard let state else { return }
    if outbox.isEmpty, isWritable {
      check(operation(state))
    } else {
      outbox.append(operation)
      watcher?.watch([.readable, .writable])
    }
  }

  /// Linux reports a socket as writable while a third of its buffer is free, far more than one message needs.
  private var isWritable: Bool {
    guard let state else { return false }
    var descriptor = pollfd(fd: amqp_get_sockfd(state), events: Int16(POLLOUT), revents: 0)
    return poll(&descriptor, 1, 0) == 1
  }

  private func check(_ status: Int32) {
    if status != AMQP_STATUS_OK.rawValue { end(.connectionLost, "send", statusText(status)) }
  }

  private func ready(_ readiness: Readiness) {
    if readiness.contains(.writable) {
      var sent = 0
      while sent < outbox.count, isWritable, let state {
        check(outbox[sent](state))
        sent += 1
      }
      outbox.removeFirst(min(sent, outbox.count))
      if outbox.isEmpty { watcher?.watch(.readable) }
    }
    if readiness.contains(.readable) { receive() }
  }

  // MARK: Receiving

  /// Reads every frame that has arrived; also sends a heartbeat when one is due.
  private func receive() {
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
      // Everything of the frame has been copied by now.
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

  /// Ends everything once: the handle, the channels and whoever waits.
  func end(_ code: AMQPError.Code, _ operation: String, _ cause: String) {
    guard failure == nil else { return }
    let failure = AMQPError(code, operation: operation, target: endpoint.description, cause: cause)
    self.failure = failure
    watcher?.close()
    watcher = nil
    heartbeat?.close()
    heartbeat = nil
    outbox.removeAll()
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
