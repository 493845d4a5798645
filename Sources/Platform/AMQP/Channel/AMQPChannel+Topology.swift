import CRabbitMQ

extension AMQPChannel {
  /// Opens another channel of the connection, for a question whose answer may be the end of its channel.
  ///
  /// - Throws: ``AMQPError``.
  public func sibling() async throws -> AMQPChannel { try await connection.openChannel() }

  /// Returns how many messages a queue has, over a channel of its own: a queue that is missing ends that one only.
  ///
  /// - Throws: ``AMQPError``.
  public func depth(of queue: String) async throws -> Int {
    let channel = try await sibling()
    let depth = try await channel.declareQueue(queue, passive: true)
    await channel.close()
    return depth.messages
  }

  /// Declares a durable exchange, or only looks it up when `passive`.
  ///
  /// - Throws: ``AMQPError`` with code `channelClosed` when it exists with another type, or not at all.
  public func declareExchange(_ name: String, type: String, passive: Bool = false) async throws {
    var arena = ArgumentArena()
    var method = amqp_exchange_declare_t()
    method.exchange = arena.bytes(name)
    method.type = arena.bytes(type)
    method.durable = 1
    method.passive = passive ? 1 : 0
    try await call(
      "declare exchange \(name)", AMQP_EXCHANGE_DECLARE_METHOD, &method, reply: AMQP_EXCHANGE_DECLARE_OK_METHOD)
  }

  /// Declares a durable queue, or only looks it up when `passive`. Returns how full the queue is.
  ///
  /// - Parameter isExclusive: makes a queue that only this connection may consume, and that ends with it.
  /// - Throws: ``AMQPError`` with code `channelClosed` when it exists with other arguments, or not at all.
  @discardableResult
  public func declareQueue(
    _ name: String, arguments: [String: AMQPValue] = [:], passive: Bool = false, isExclusive: Bool = false
  ) async throws -> QueueDepth {
    var arena = ArgumentArena()
    var method = amqp_queue_declare_t()
    method.queue = arena.bytes(name)
    method.durable = isExclusive ? 0 : 1
    method.exclusive = isExclusive ? 1 : 0
    method.passive = passive ? 1 : 0
    method.arguments = arena.table(arguments)
    return try await call(
      "declare queue \(name)", AMQP_QUEUE_DECLARE_METHOD, &method, reply: AMQP_QUEUE_DECLARE_OK_METHOD)
  }

  /// Binds a queue to an exchange.
  ///
  /// - Throws: ``AMQPError``.
  public func bindQueue(_ queue: String, to exchange: String, routingKey: String) async throws {
    var arena = ArgumentArena()
    var method = amqp_queue_bind_t()
    method.queue = arena.bytes(queue)
    method.exchange = arena.bytes(exchange)
    method.routing_key = arena.bytes(routingKey)
    try await call("bind queue \(queue)", AMQP_QUEUE_BIND_METHOD, &method, reply: AMQP_QUEUE_BIND_OK_METHOD)
  }

  /// Takes a binding back. Without that binding it does nothing.
  ///
  /// - Throws: ``AMQPError`` with code `channelClosed` when the exchange or the queue does not exist.
  public func unbindQueue(_ queue: String, from exchange: String, routingKey: String) async throws {
    var arena = ArgumentArena()
    var method = amqp_queue_unbind_t()
    method.queue = arena.bytes(queue)
    method.exchange = arena.bytes(exchange)
    method.routing_key = arena.bytes(routingKey)
    try await call("unbind queue \(queue)", AMQP_QUEUE_UNBIND_METHOD, &method, reply: AMQP_QUEUE_UNBIND_OK_METHOD)
  }

  /// Deletes a queue with all its messages.
  ///
  /// - Throws: ``AMQPError``.
  public func deleteQueue(_ queue: String) async throws { _ = try await deleteQueueAndCount(queue) }

  /// Deletes a queue with all its messages. Returns how many there were.
  ///
  /// - Throws: ``AMQPError``.
  public func deleteQueueAndCount(_ queue: String) async throws -> Int {
    var arena = ArgumentArena()
    var method = amqp_queue_delete_t()
    method.queue = arena.bytes(queue)
    return try await call(
      "delete queue \(queue)", AMQP_QUEUE_DELETE_METHOD, &method, reply: AMQP_QUEUE_DELETE_OK_METHOD
    ).messages
  }
}
