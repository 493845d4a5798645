public import AMQP
public import Domain

/// A delivery on the wire: the body is that of its event, and the headers tell how far it has come.
extension Delivery {
  static let endpointHeader = "countersign-endpoint"
  static let roundHeader = "countersign-round"
  static let dueHeader = JobMessage.dueHeader
  static let plannedHeader = "countersign-planned"
  static let parksHeader = JobMessage.parksHeader
  static let missesHeader = "countersign-misses"
  static let waitedHeader = "countersign-waited"
  static let crashesHeader = "countersign-crashes"

  /// Reads a message of the notifier's queue.
  ///
  /// - Throws: ``Malformed``.
  public init(_ message: AMQPDelivery) throws(Malformed) {
    let headers = message.properties.headers
    guard let id = message.properties.messageID, !id.isEmpty, !id.contains(where: { $0 == "." || $0 == "\0" })
    else {
      throw Malformed(reason: "the message has no usable id")
    }
    // The event's own headers stay with it. A broker's headers do not.
    var own = [String: EventHeader](minimumCapacity: headers.count)
    for (name, value) in headers where EventHeader.isOfEvent(name) { own[name] = EventHeader(value) }
    try self.init(
      eventId: EventId(id), endpointId: (headers[Self.endpointHeader]?.string).map(EndpointId.init(_:)),
      headers: own, body: message.body)
    attempt = headers.count(JobMessage.attemptHeader, least: 1)
    round = headers[Self.roundHeader]?.string.map(DeliveryRound.init(_:)) ?? .first
    due = headers.time(Self.dueHeader)
    isPlanned = headers[Self.plannedHeader] == .bool(true)
    parks = headers.count(Self.parksHeader)
    misses = headers.count(Self.missesHeader)
    waited = headers.milliseconds(Self.waitedHeader)
    crashes = Suspicion(message).crashes
  }

  /// Builds the message that puts the delivery into a queue, or buries it there with a reason.
  public func message(queue: String, reason: String? = nil) -> AMQPMessage {
    var headers = headers.mapValues(AMQPValue.init)
    headers[Self.endpointHeader] = endpointId.map { .string($0.text) }
    headers[JobMessage.attemptHeader] = .int(Int64(attempt))
    if !round.isFirst { headers[Self.roundHeader] = .string(round.text) }
    headers[Self.dueHeader] = due.map(AMQPValue.int)
    if isPlanned { headers[Self.plannedHeader] = true }
    if parks > 0 { headers[Self.parksHeader] = .int(Int64(parks)) }
    if misses > 0 { headers[Self.missesHeader] = .int(Int64(misses)) }
    if waited > 0 { headers[Self.waitedHeader] = .int(waited) }
    // Whoever moves a message back out of the queue of the dead wants it tried again.
    if crashes > 0, reason == nil { headers[Self.crashesHeader] = .int(Int64(crashes)) }
    headers[JobMessage.reasonHeader] = reason.map { .string(String($0.prefix(1000))) }
    return AMQPMessage(
      exchange: "", routingKey: queue, messageID: eventId.text, type: topic.text, headers: headers, body: body)
  }
}
