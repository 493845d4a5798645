import CRabbitMQ
public import EventLoop

/// One channel: its calls, its consumers and its confirms.
@LoopActor
public final class AMQPChannel {
  /// The reason why the channel ended; `nil` while it is open.
  public private(set) var failure: AMQPError?

  let number: UInt16
  /// This is a reference cycle. The channel's end breaks it, and every connection ends by `close` or by a failure.
  let connection: AMQPConnection
  var confirms = PublishConfirms<@LoopActor (AMQPMessage.Answer) -> Void>()
  var consumers: [String: @LoopActor (AMQPDelivery) -> Void] = [:]
  var confirmTimer: LoopTimer?
  var acknowledgements = Acknowledgements()
  lazy var acknowledgeLater = EndOfTurn { [weak self] in self?.sendAcknowledgements() }
  var lastAcknowledgement: ContinuousClock.Instant?
  private static let settlingTime: Duration = .milliseconds(500)
  private var calls: [Call] = []
  private var assembly = ContentAssembly<Content>()
  private var endWaiters: [CheckedContinuation<AMQPError, Never>] = []

  /// A call that waits for its answer; the broker answers the calls of a channel in order.
  private struct Call {
    let operation: String
    let reply: amqp_method_number_t
    let waiter: CheckedContinuation<QueueDepth, any Error>
  }

  private enum Content {
    case delivery(consumer: String, tag: UInt64, isRedelivered: Bool, exchange: String, routingKey: String)
    case returned(cause: String)
  }

  init(number: UInt16, of connection: AMQPConnection) {
    self.number = number
    self.connection = connection
  }

  /// Suspends until the channel has ended and returns why.
  public func ended() async -> AMQPError {
    if let failure { return failure }
    return await withCheckedContinuation { endWaiters.append($0) }
  }

  /// Closes the channel after a moment in which the broker takes the acknowledgements that came before.
  ///
  /// A quorum queue's client inside the broker takes 32 acknowledgements at a time and keeps the rest until the queue
  /// has replicated those. When the channel closes, the acknowledgements that it still keeps are lost, and the messages
  /// come again. The broker does not tell when it is done, so the close waits a moment after the last acknowledgement.
  public func close() async {
    if let last = lastAcknowledgement, failure == nil {
      let rest = last + Self.settlingTime - ContinuousClock.now
      if rest > .zero { try? await EventLoop.sleep(for: rest) }
    }
    guard failure == nil else { return }
    var method = amqp_channel_close_t()
    method.reply_code = 200
    _ = try? await call("close the channel", AMQP_CHANNEL_CLOSE_METHOD, &method, reply: AMQP_CHANNEL_CLOSE_OK_METHOD)
    end(AMQPError(.closed, operation: "close", target: connection.endpoint.description, cause: "closed by us"))
  }

  /// Sends a method and waits for its answer. If the broker gives no answer, the connection ends.
  @discardableResult
  func call<Method>(
    _ operation: String, _ id: amqp_method_number_t, _ method: inout Method, reply: amqp_method_number_t
  ) async throws -> QueueDepth {
    if let failure { throw failure }
    acknowledgeLater.runIfPlanned()
    connection.send(id, channel: number, &method)
    if let failure { throw failure }
    let limit = LoopTimer { [connection] in
      connection.end(.timeout, operation, "no answer from the broker")
      self.end(self.error(.timeout, operation, "no answer from the broker"))
    }
    limit.start(after: connection.endpoint.replyTimeout)
    defer { limit.close() }
    return try await withCheckedThrowingContinuation {
      calls.append(Call(operation: operation, reply: reply, waiter: $0))
    }
  }

  // MARK: Frames

  func receive(_ frame: amqp_frame_t) {
    switch Int32(frame.frame_type) {
    case AMQP_FRAME_METHOD: receive(frame.payload.method)
    case AMQP_FRAME_HEADER:
      let header = frame.payload.properties
      guard let decoded = header.decoded, header.class_id == AMQP_BASIC_CLASS else { return }
      let properties = AMQPProperties(copying: decoded.assumingMemoryBound(to: amqp_basic_properties_t.self).pointee)
      complete(assembly.header(properties, bodySize: Int(clamping: header.body_size)))
    case AMQP_FRAME_BODY:
      let piece = frame.payload.body_fragment
      complete(assembly.body(UnsafeRawBufferPointer(start: piece.bytes, count: piece.len)))
    default: break
    }
  }

  private func receive(_ method: amqp_method_t) {
    func decoded<Method>(_: Method.Type) -> Method { method.decoded.assumingMemoryBound(to: Method.self).pointee }
    switch method.id {
    case AMQP_BASIC_DELIVER_METHOD:
      let deliver = decoded(amqp_basic_deliver_t.self)
      assembly.begin(
        .delivery(
          consumer: String(copying: deliver.consumer_tag), tag: deliver.delivery_tag,
          isRedelivered: deliver.redelivered != 0, exchange: String(copying: deliver.exchange),
          routingKey: String(copying: deliver.routing_key)))
    case AMQP_BASIC_RETURN_METHOD:
      let returned = decoded(amqp_basic_return_t.self)
      let route = "exchange \"\(String(copying: returned.exchange))\", key \"\(String(copying: returned.routing_key))\""
      assembly.begin(.returned(cause: "\(returned.reply_code) \(String(copying: returned.reply_text)): \(route)"))
    case AMQP_BASIC_ACK_METHOD:
      let ack = decoded(amqp_basic_ack_t.self)
      settle(confirms.settled(ack.delivery_tag, multiple: ack.multiple != 0, isAck: true))
    case AMQP_BASIC_NACK_METHOD:
      let nack = decoded(amqp_basic_nack_t.self)
      settle(confirms.settled(nack.delivery_tag, multiple: nack.multiple != 0, isAck: false))
    case AMQP_BASIC_CANCEL_METHOD:
      // The queue was deleted, or its leader went away. The session builds the channel again, with the topology.
      fail("consume", "the broker cancelled the consumer")
    case AMQP_CHANNEL_CLOSE_METHOD:
      let close = decoded(amqp_channel_close_t.self)
      let operation = calls.first?.operation ?? "use the channel"
      let cause = "\(close.reply_code) \(String(copying: close.reply_text))"
      var answer = amqp_channel_close_ok_t()
      connection.send(AMQP_CHANNEL_CLOSE_OK_METHOD, channel: number, &answer)
      fail(operation, cause)
    default:
      guard let call = calls.first, call.reply == method.id else { return }
      calls.removeFirst()
      var depth = QueueDepth(messages: 0, consumers: 0)
      if method.id == AMQP_QUEUE_DECLARE_OK_METHOD {
        let ok = decoded(amqp_queue_declare_ok_t.self)
        depth = QueueDepth(messages: Int(ok.message_count), consumers: Int(ok.consumer_count))
      } else if method.id == AMQP_QUEUE_DELETE_OK_METHOD {
        depth = QueueDepth(messages: Int(decoded(amqp_queue_delete_ok_t.self).message_count), consumers: 0)
      }
      call.waiter.resume(returning: depth)
    }
  }

  private func complete(_ content: (Content, AMQPProperties, [UInt8])?) {
    guard let (method, properties, body) = content else { return }
    switch method {
    case .delivery(let consumer, let tag, let isRedelivered, let exchange, let routingKey):
      acknowledgements.delivered(tag)
      consumers[consumer]?(
        AMQPDelivery(
          tag: tag, isRedelivered: isRedelivered, exchange: exchange, routingKey: routingKey,
          properties: properties, body: body))
    case .returned(let cause):
      confirms.returned(properties.messageID ?? "", cause: cause)
    }
  }

  /// Gives answers to those who wait for them. They may end the connection.
  private func settle(
    _ ended: [(@LoopActor (AMQPMessage.Answer) -> Void, PublishConfirms<@LoopActor (AMQPMessage.Answer) -> Void>.Fate)]
  ) {
    for (then, fate) in ended {
      switch fate {
      case .confirmed: then(.success(()))
      case .refused: then(.failure(error(.refused, "publish", "the broker refused the message")))
      case .unroutable(let cause): then(.failure(error(.unroutable, "publish", cause)))
      }
    }
  }

  // MARK: The end

  func error(_ code: AMQPError.Code, _ operation: String, _ cause: String) -> AMQPError {
    AMQPError(code, operation: operation, target: connection.endpoint.description, cause: cause)
  }

  private func fail(_ operation: String, _ cause: String) { end(error(.channelClosed, operation, cause)) }

  /// Ends the channel once, with its calls, its unconfirmed messages and the tasks that wait for its end.
  func end(_ failure: AMQPError) {
    guard self.failure == nil else { return }
    self.failure = failure
    connection.forget(self)
    confirmTimer?.close()
    confirmTimer = nil
    consumers.removeAll()
    let calls = self.calls
    self.calls.removeAll()
    for call in calls { call.waiter.resume(throwing: failure) }
    for then in confirms.removeAll() { then(.failure(failure)) }
    for waiter in endWaiters { waiter.resume(returning: failure) }
    endWaiters.removeAll()
  }
}

/// The messages and consumers of a queue at its declaration.
public struct QueueDepth: Sendable, Equatable {
  /// Messages that wait for a consumer. Delivered messages without acknowledgement do not count.
  public let messages: Int
  /// Consumers of the queue.
  public let consumers: Int
}
