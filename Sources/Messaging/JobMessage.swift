public import AMQP
import Crypto
public import Domain
import EventLoop
import FoundationEssentials
import JSON

/// A job on the wire: the body is the job, the header counts the attempts.
///
/// The message is built anew for each publish, so broker headers such as `x-death`, by which a broker would take a job
/// that goes round for a cycle and drop it, never come along.
public enum JobMessage {
  /// The number of the attempt that this delivery asks for, from 1.
  public static let attemptHeader = "countersign-attempt"
  /// That a delivery of this message ended without an acknowledgement, as when its worker crashes. The broker tells it
  /// once only: a message that is built anew must carry it on.
  public static let redeliveredHeader = "countersign-redelivered"
  /// Why a message lies in a dead-letter queue.
  public static let reasonHeader = "countersign-reason"

  /// Builds the message that puts a job into a queue.
  public static func message(
    _ job: Job, attempt: Int, queue: String, wasRedelivered: Bool = false
  ) -> AMQPMessage {
    var headers: [String: AMQPValue] = [attemptHeader: .int(Int64(attempt))]
    if wasRedelivered { headers[redeliveredHeader] = .bool(true) }
    headers["traceparent"] = job.traceparent.map(AMQPValue.string)
    return AMQPMessage(
      exchange: "", routingKey: queue, messageID: id(of: job, attempt: attempt),
      type: "job", headers: headers, body: job.encoded)
  }

  /// A hash, since a synchronization's id may alone be longer than the 255 bytes that AMQP gives a message's id.
  private static func id(of job: Job, attempt: Int) -> String {
    let name = Array("\(job.publisherId)/\(job.synchronizationId)".utf8)
    return "job_\(Hex.encode(SHA256.hash(name)[..<16]))_\(attempt)"
  }

  /// Whether a worker may have crashed with this job in hand.
  public static func wasRedelivered(_ delivery: AMQPDelivery) -> Bool {
    delivery.isRedelivered || delivery.properties.headers[redeliveredHeader] == .bool(true)
  }

  /// A delivery that is no job.
  public struct Malformed: Error, Sendable {
    /// What is wrong with it, for the dead-letter queue.
    public let reason: String
  }

  /// Reads a delivery.
  ///
  /// - Throws: ``Malformed``.
  public static func read(_ delivery: AMQPDelivery) throws(Malformed) -> (job: Job, attempt: Int) {
    let job: Job
    do {
      job = try Job(JSONText(delivery.body))
    } catch {
      throw Malformed(reason: "not a job: \(Self.describe(error))")
    }
    if let defect = job.defect { throw Malformed(reason: defect) }
    let attempt = delivery.properties.headers[attemptHeader]?.int ?? 1
    guard (1...1_000_000).contains(attempt) else { throw Malformed(reason: "attempt \(attempt)") }
    return (job, Int(attempt))
  }

  /// Builds the message that buries a delivery with its reason; the body stays as it was.
  public static func dead(_ delivery: AMQPDelivery, reason: String, queue: String) -> AMQPMessage {
    // Only what we understand is copied: no broker header, and no value of a type that we cannot write.
    var headers = delivery.properties.headers.filter { $0.key.hasPrefix("countersign-") && $0.value != .other }
    headers[reasonHeader] = .string(String(reason.prefix(1000)))
    return AMQPMessage(
      exchange: "", routingKey: queue, messageID: delivery.properties.messageID ?? "dead-\(delivery.tag)",
      contentType: delivery.properties.contentType ?? "application/octet-stream", type: delivery.properties.type,
      headers: headers, body: delivery.body)
  }

  private static func describe(_ error: any Error) -> String {
    switch error {
    case DecodingError.keyNotFound(let key, _): "\(key.stringValue) is missing"
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
      "\(context.codingPath.map(\.stringValue).joined(separator: ".")) has another type"
    default: "the body is not JSON"
    }
  }
}
