import CRabbitMQ
import EventLoop

extension AMQPChannel {
  /// Puts the channel into confirm mode. Call it once, before the first message.
  ///
  /// - Throws: ``AMQPError``.
  public func enableConfirms() async throws {
    var method = amqp_confirm_select_t()
    try await call("enable confirms", AMQP_CONFIRM_SELECT_METHOD, &method, reply: AMQP_CONFIRM_SELECT_OK_METHOD)
  }

  /// Publishes a persistent message, and returns when the broker has confirmed it.
  ///
  /// - Throws: ``AMQPError``: `refused` or `unroutable` if the broker says so; `blocked` at once during an alarm;
  ///   `timeout` or `connectionLost` when it is unknown whether the message has arrived.
  public func publish(_ message: AMQPMessage, timeout: Duration = .seconds(10)) async throws {
    try await withCheckedThrowingContinuation { waiter in
      publish(message, timeout: timeout) { waiter.resume(with: $0) }
    }
  }

  /// Publishes a persistent message, and calls `then` with the broker's answer.
  ///
  /// A task that waits needs some kilobytes, and there may be a thousand messages without an answer.
  ///
  /// - Parameter then: called once, perhaps before this returns. Its errors are those that
  ///   ``publish(_:timeout:)`` throws.
  public func publish(
    _ message: AMQPMessage, timeout: Duration, then: @escaping @LoopActor (AMQPMessage.Answer) -> Void
  ) {
    if let failure { return then(.failure(failure)) }
    if let defect = message.defect { return then(.failure(error(.invalid, "publish", defect))) }
    if connection.isBlocked {
      return then(.failure(error(.blocked, "publish", "the broker has raised a resource alarm")))
    }
    if confirmTimer == nil {
      // One timer serves all messages, and fires a tenth of a second late at most. A timer for each message costs more
      // than the rest of a publish.
      let timer = LoopTimer { [weak self] in self?.giveUpOverdue() }
      timer.start(after: .milliseconds(100), every: .milliseconds(100))
      confirmTimer = timer
    }
    confirms.add(message.messageID, then, until: .now + timeout)
    message.publish(on: connection, channel: number)
  }

  private func giveUpOverdue() {
    for then in confirms.removeOverdue(at: .now) {
      then(.failure(error(.timeout, "publish", "no confirm from the broker")))
    }
    // Without pending messages the timer ends, so that it does not wake up an idle process.
    guard confirms.count == 0 else { return }
    confirmTimer?.close()
    confirmTimer = nil
  }
}

extension AMQPMessage {
  /// Why the message cannot be sent; `nil` when it can.
  ///
  /// `publish` asks this first. librabbitmq notices the defect only when half of the message is on its way, and the
  /// connection is lost then.
  fileprivate var defect: String? {
    // AMQP 0-9-1, section 4.2.5.3: a short string has at most 255 octets.
    let short =
      [
        ("exchange", exchange), ("routing key", routingKey), ("message id", messageID), ("content type", contentType),
        ("type", type ?? ""),
      ] + headers.keys.map { ("header's name", $0) }
    return short.first { $0.1.utf8.count > 255 }.map { "the \($0.0) is longer than 255 bytes" }
  }

  @LoopActor
  fileprivate func publish(on connection: AMQPConnection, channel: UInt16) {
    var arena = ArgumentArena()
    var properties = amqp_basic_properties_t()
    properties._flags = amqp_flags_t(
      AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG
        | AMQP_BASIC_HEADERS_FLAG)
    properties.content_type = arena.bytes(contentType)
    properties.delivery_mode = UInt8(AMQP_DELIVERY_PERSISTENT.rawValue)
    properties.message_id = arena.bytes(messageID)
    properties.headers = arena.table(headers)
    if let type {
      properties._flags |= amqp_flags_t(AMQP_BASIC_TYPE_FLAG)
      properties.type = arena.bytes(type)
    }
    var method = amqp_basic_publish_t()
    method.exchange = arena.bytes(exchange)
    method.routing_key = arena.bytes(routingKey)
    method.mandatory = isMandatory ? 1 : 0
    connection.publish(channel: channel, &method, &properties, body: body)
  }
}
