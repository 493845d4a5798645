public import AMQP

/// Why a message lies in a queue of the dead.
public enum DeadCause: String, Sendable, CaseIterable {
  /// Every attempt failed, or the endpoint answered 410.
  case abandoned
  /// Processes died while they had it, one after the other.
  case crashed
  /// RabbitMQ gave it up: it came back more often than its queue allows.
  case deliveryLimit = "delivery_limit"
  /// The delivery's endpoint was deleted.
  case endpointGone = "endpoint_gone"
  /// It is no job, or no event.
  case malformed
  /// The publisher was in no file for as long as attempts last.
  case publisherUnknown = "publisher_unknown"
  /// The id of the job's synchronization has become another registration's.
  case superseded
  /// Nobody wrote a reason.
  case unknown

  /// Reads the cause from a message's headers.
  ///
  /// A message of an earlier version has its reason in words only. RabbitMQ notes its own reason.
  init(_ headers: [String: AMQPValue], of kind: DeadMessage.Kind) {
    if let cause = headers[JobMessage.causeHeader]?.string.flatMap(DeadCause.init) {
      self = cause
    } else if let reason = headers[JobMessage.reasonHeader]?.string {
      self = kind == .jobs ? .of(jobs: reason) : .of(deliveries: reason)
    } else {
      self = headers["x-first-death-reason"] == "delivery_limit" ? .deliveryLimit : .unknown
    }
  }

  private static func of(jobs reason: String) -> DeadCause {
    if reason.contains("did not end: it seems to kill its worker") { return .crashed }
    let beginnings = ["its synchronizationId has become another", "its synchronizationId now belongs to another"]
    return beginnings.contains { reason.hasPrefix($0) } ? .superseded : .malformed
  }

  private static func of(deliveries reason: String) -> DeadCause {
    if reason.contains("died while they had it: it seems to kill its process") { return .crashed }
    if reason.hasPrefix("endpoint "), reason.hasSuffix(" is not there") || reason.hasSuffix(" was deleted") {
      return .endpointGone
    }
    if reason.hasPrefix("publisher "), reason.hasSuffix(" is not configured") { return .publisherUnknown }
    return reason == "the body is not an event" || reason == "the message has no usable id" ? .malformed : .abandoned
  }
}

extension AMQPMessage {
  /// Notes in a message for a queue of the dead why and when it is buried. Its reason in words is there already.
  ///
  /// - Parameter time: milliseconds since 1970.
  public mutating func bury(_ cause: DeadCause, at time: Int64) {
    headers[JobMessage.causeHeader] = .string(cause.rawValue)
    headers[JobMessage.buriedHeader] = .int(time)
  }
}
