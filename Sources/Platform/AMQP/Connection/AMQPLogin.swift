import CRabbitMQ

/// The log-in of a connection (AMQP 0-9-1, section 2.2.4). A state machine by value.
///
///     client  protocol header   Start-Ok          Tune-Ok Open
///     broker                 Start          Tune                 Open-Ok
struct AMQPLogin {
  /// How far the log-in has come.
  enum Progress: Equatable {
    case goesOn
    case done(Agreement)
    case failed(String)
  }

  /// The limits that both sides have agreed on.
  struct Agreement: Equatable {
    var frameMax = 1 << 17
    /// The interval of heartbeats in seconds; 0 means none.
    var heartbeat = 0
  }

  private enum State { case awaitingStart, awaitingTune, awaitingOpenOk }

  /// The limit of a frame before the agreement. The protocol says 4096, but a password may be a long token.
  static let frameMax = 1 << 16
  /// The smallest limit that a peer may set (AMQP 0-9-1, section 4.2.3: `frame-min-size`). A smaller one would leave no
  /// room for the head of a message.
  private static let leastFrameMax = 4096
  private static let capabilities: [String] = [
    // Without this the broker never tells of an alarm.
    "connection.blocked",
    "consumer_cancel_notify", "publisher_confirms", "basic.nack",
    // Without this the broker hangs up without a word when it refuses the log-in.
    "authentication_failure_close",
  ]

  private let endpoint: AMQPEndpoint
  private let name: String
  private var state = State.awaitingStart
  private var agreement = Agreement()

  /// - Parameter name: the broker shows it in its list of connections.
  init(to endpoint: AMQPEndpoint, name: String) {
    self.endpoint = endpoint
    self.name = name
  }

  /// The operation for errors.
  var operation: String {
    switch endpoint.mechanism {
    case .plain: "log in as \(endpoint.user) to \(endpoint.virtualHost)"
    case .external: "log in with a certificate to \(endpoint.virtualHost)"
    }
  }

  /// The cause of a connection's end, with advice as long as nothing shows that the server speaks AMQP: a port for TLS
  /// ends a connection without TLS, or answers it with bytes that are not AMQP.
  func explained(_ cause: String) -> String {
    guard endpoint.tls == nil, state == .awaitingStart else { return cause }
    return "\(cause); if this port speaks TLS, use amqps:// in the URL"
  }

  /// Takes the broker's next method, and adds the answers to the buffer.
  mutating func receive(_ method: amqp_method_t, _ answers: inout FrameBuffer) -> Progress {
    func decoded<Method>(_: Method.Type) -> Method { method.decoded.assumingMemoryBound(to: Method.self).pointee }
    var status = AMQP_STATUS_OK.rawValue
    switch (state, method.id) {
    case (_, AMQP_CONNECTION_CLOSE_METHOD):
      let close = decoded(amqp_connection_close_t.self)
      var answer = amqp_connection_close_ok_t()
      _ = answers.add(AMQP_CONNECTION_CLOSE_OK_METHOD, channel: 0, &answer)
      return .failed("\(close.reply_code) \(String(copying: close.reply_text))")
    case (.awaitingStart, AMQP_CONNECTION_START_METHOD):
      let start = decoded(amqp_connection_start_t.self)
      guard (start.version_major, start.version_minor) == (0, 9) else {
        return .failed("the server does not speak AMQP 0-9-1")
      }
      let offered = String(copying: start.mechanisms)
      guard offered.split(separator: " ").contains(Substring(endpoint.mechanism.rawValue)) else {
        return .failed("the broker offers \(offered), not \(endpoint.mechanism.rawValue)")
      }
      status = addStartOk(to: &answers)
      state = .awaitingTune
    case (.awaitingTune, AMQP_CONNECTION_TUNE_METHOD):
      let tune = decoded(amqp_connection_tune_t.self)
      guard tune.frame_max == 0 || tune.frame_max >= Self.leastFrameMax else {
        return .failed("the broker allows frames of \(tune.frame_max) bytes, fewer than AMQP's \(Self.leastFrameMax)")
      }
      status = answer(tune, &answers)
      state = .awaitingOpenOk
    case (.awaitingOpenOk, AMQP_CONNECTION_OPEN_OK_METHOD): return .done(agreement)
    default: return .failed("unexpected answer")
    }
    return status == AMQP_STATUS_OK.rawValue ? .goesOn : .failed(statusText(status))
  }

  private func addStartOk(to answers: inout FrameBuffer) -> Int32 {
    var arena = ArgumentArena()
    let capabilities = Dictionary(uniqueKeysWithValues: Self.capabilities.map { ($0, AMQPValue.bool(true)) })
    var method = amqp_connection_start_ok_t()
    method.client_properties = arena.table(
      ["connection_name": .string(name), "product": "countersign"], tables: ["capabilities": capabilities])
    method.mechanism = arena.bytes(endpoint.mechanism.rawValue)
    method.response =
      switch endpoint.mechanism {
      case .plain: arena.bytes("\0\(endpoint.user)\0\(endpoint.password)")
      case .external: arena.bytes("")
      }
    method.locale = arena.bytes("en_US")
    return answers.add(AMQP_CONNECTION_START_OK_METHOD, channel: 0, &method)
  }

  private mutating func answer(_ tune: amqp_connection_tune_t, _ answers: inout FrameBuffer) -> Int32 {
    // Zero means no limit. No heartbeats of ours are no heartbeats at all.
    let wanted = UInt16(clamping: endpoint.heartbeat.components.seconds)
    let heartbeat = tune.heartbeat == 0 ? wanted : min(tune.heartbeat, wanted)
    if tune.frame_max > 0 { agreement.frameMax = min(agreement.frameMax, Int(tune.frame_max)) }
    agreement.heartbeat = Int(heartbeat)
    let channels = tune.channel_max == 0 ? UInt16.max : tune.channel_max
    var tuneOk = amqp_connection_tune_ok_t(
      channel_max: channels, frame_max: UInt32(agreement.frameMax), heartbeat: heartbeat)
    let status = answers.add(AMQP_CONNECTION_TUNE_OK_METHOD, channel: 0, &tuneOk)
    guard status == AMQP_STATUS_OK.rawValue else { return status }
    var arena = ArgumentArena()
    var open = amqp_connection_open_t()
    open.virtual_host = arena.bytes(endpoint.virtualHost)
    return answers.add(AMQP_CONNECTION_OPEN_METHOD, channel: 0, &open)
  }
}
