import CRabbitMQ
import EventLoop

extension AMQPChannel {
  /// Limits how many unacknowledged deliveries each consumer of the channel has.
  ///
  /// The limit is per consumer and never global: quorum queues refuse global limits.
  ///
  /// - Throws: ``AMQPError``.
  public func setPrefetch(_ count: Int) async throws {
    var method = amqp_basic_qos_t(prefetch_size: 0, prefetch_count: UInt16(clamping: count), global: 0)
    try await call("set the prefetch", AMQP_BASIC_QOS_METHOD, &method, reply: AMQP_BASIC_QOS_OK_METHOD)
  }

  /// Starts to consume a queue with manual acknowledgements. The channel calls `handler` on the loop for each delivery.
  ///
  /// - Throws: ``AMQPError`` with code `channelClosed` when there is no such queue.
  public func consume(_ queue: String, tag: String, handler: @escaping @LoopActor (AMQPDelivery) -> Void) async throws {
    // The handler comes first: deliveries may arrive in the same read as the answer.
    consumers[tag] = handler
    var arena = ArgumentArena()
    var method = amqp_basic_consume_t()
    method.queue = arena.bytes(queue)
    method.consumer_tag = arena.bytes(tag)
    try await call("consume \(queue)", AMQP_BASIC_CONSUME_METHOD, &method, reply: AMQP_BASIC_CONSUME_OK_METHOD)
  }

  /// Stops a consumer. Deliveries that come before the broker's answer still reach the handler.
  ///
  /// - Throws: ``AMQPError``.
  public func cancel(_ tag: String) async throws {
    var arena = ArgumentArena()
    var method = amqp_basic_cancel_t()
    method.consumer_tag = arena.bytes(tag)
    try await call("cancel consumer \(tag)", AMQP_BASIC_CANCEL_METHOD, &method, reply: AMQP_BASIC_CANCEL_OK_METHOD)
  }

  /// Acknowledges a delivery at the end of the loop's turn.
  ///
  /// It does nothing if the channel has ended, since the broker then delivers the message again.
  public func acknowledge(_ delivery: AMQPDelivery) {
    guard failure == nil, acknowledgements.acknowledge(delivery.tag) else { return }
    lastAcknowledgement = .now
    acknowledgeLater.plan()
  }

  /// Sends the collected acknowledgements. Anything that follows on the channel must come after them.
  func sendAcknowledgements() {
    guard failure == nil else { return }
    for answer in acknowledgements.take() {
      var method = amqp_basic_ack_t(delivery_tag: answer.tag, multiple: answer.multiple ? 1 : 0)
      connection.send(AMQP_BASIC_ACK_METHOD, channel: number, &method)
    }
  }

  /// Gives a delivery back to the queue. The broker delivers it again at once.
  ///
  /// Use it for a consumer that stops, and never as a retry: a tight loop of requeues grows the queue's log.
  /// RabbitMQ 4.3 does not count it against `x-delivery-limit`; earlier ones do.
  public func requeue(_ delivery: AMQPDelivery) {
    guard failure == nil else { return }
    acknowledgements.returned(delivery.tag)
    var method = amqp_basic_nack_t(delivery_tag: delivery.tag, multiple: 0, requeue: 1)
    connection.send(AMQP_BASIC_NACK_METHOD, channel: number, &method)
  }

  /// Gives every unanswered delivery back to its queue, up to a tag.
  public func requeueAll(upTo tag: UInt64) {
    // What the caller has acknowledged must not come back.
    acknowledgeLater.runIfPlanned()
    guard failure == nil, acknowledgements.returnAll(upTo: tag) else { return }
    var method = amqp_basic_nack_t(delivery_tag: tag, multiple: 1, requeue: 1)
    connection.send(AMQP_BASIC_NACK_METHOD, channel: number, &method)
  }
}
