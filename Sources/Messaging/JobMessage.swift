public import AMQP
import Crypto
public import Domain
import EventLoop
import FoundationEssentials
import JSON

/// A job on the wire: the body is the job, the header counts the attempts.
///
/// Each publish builds a new message without broker headers such as `x-death`. With them a broker would take a job that
/// goes round for a cycle, and drop it.
public enum JobMessage {
  /// The number of the attempt that this delivery asks for, from 1.
  public static let attemptHeader = "countersign-attempt"
  /// Says that a delivery of this message ended without an acknowledgement, as when its worker crashes.
  ///
  /// The broker tells it once only, so a new message must carry it on.
  public static let redeliveredHeader = "countersign-redelivered"
  /// When the wait in delay queues ends, in milliseconds since 1970, where one queue alone does not end it.
  public static let dueHeader = "countersign-due"
  /// The run of the job that the message is for, from 1; without it, the message is of no sweep. The number grows when
  /// a sweep enqueues the job again. Once it has arrived, messages with smaller numbers are dropped, so that repeated
  /// sweeps of a job leave two messages of it at most.
  public static let runHeader = "countersign-run"
  /// Names a copy of a job that waits in the line for a call to Apple.
  public static let copyHeader = "countersign-copy"
  /// How often a message was put off because its reader could not look at it.
  public static let parksHeader = "countersign-parks"
  /// Why a message lies in a dead-letter queue.
  public static let reasonHeader = "countersign-reason"
  /// The kind of that reason (``DeadCause``).
  static let causeHeader = "countersign-cause"
  /// When it was put there, in milliseconds since 1970.
  static let buriedHeader = "countersign-buried"

  /// Builds the message that puts a job into a queue.
  ///
  /// - Parameters:
  ///   - due: when its wait ends, if it is not over behind that queue.
  ///   - copy: the name of the copy, for a job that waits in the line.
  ///   - run: the run that it is for.
  public static func message(
    _ job: Job, attempt: Int, queue: String, due: Int64? = nil, wasRedelivered: Bool = false, copy: String? = nil,
    run: Int64 = 0
  ) -> AMQPMessage {
    var headers: [String: AMQPValue] = [attemptHeader: .int(Int64(attempt))]
    headers[dueHeader] = due.map(AMQPValue.int)
    if wasRedelivered { headers[redeliveredHeader] = .bool(true) }
    headers[copyHeader] = copy.map(AMQPValue.string)
    if run > 0 { headers[runHeader] = .int(run) }
    headers["traceparent"] = job.traceparent.map(AMQPValue.string)
    return AMQPMessage(
      exchange: "", routingKey: queue, messageID: id(of: job, attempt: attempt),
      type: "job", headers: headers, body: job.encoded)
  }

  /// A hash, since a synchronization's id alone may be longer than the 255 bytes that AMQP gives a message's id.
  private static func id(of job: Job, attempt: Int) -> String {
    let name = Array("\(job.publisherId)/\(job.synchronizationId)".utf8)
    return "job_\(Hex.encode(SHA256.hash(name)[..<16]))_\(attempt)"
  }

  /// Whether a worker may have crashed with this job in hand.
  public static func wasRedelivered(_ delivery: AMQPDelivery) -> Bool {
    delivery.isRedelivered || delivery.properties.headers[redeliveredHeader] == .bool(true)
  }

  /// When the wait of a delivered job ends; `nil` when it is over.
  public static func due(_ delivery: AMQPDelivery) -> Int64? { delivery.properties.headers.time(dueHeader) }

  /// The name of the copy that a delivery is; `nil` for any other delivery of a job.
  public static func copy(_ delivery: AMQPDelivery) -> String? { delivery.properties.headers[copyHeader]?.string }

  /// The run that a delivery is for.
  public static func run(_ delivery: AMQPDelivery) -> Int64 {
    min(max(0, delivery.properties.headers[runHeader]?.int ?? 0), 1_000_000_000)
  }

  /// Why a worker cannot run a delivery as a job.
  public enum Unreadable: Error, Equatable {
    /// It is no job, for this reason.
    case malformed(String)
    /// It is a job for newer workers than this one.
    case newer(Job.NewerFormat)
  }

  /// Reads a delivery.
  ///
  /// - Parameter doors: those of this build.
  /// - Throws: ``Unreadable``.
  public static func read(_ delivery: AMQPDelivery, doors: DoorCatalog) throws(Unreadable) -> (job: Job, attempt: Int) {
    let job: Job
    do {
      job = try Job(JSONText(delivery.body, limits: .own), doors: doors)
    } catch let error as Job.NewerFormat {
      throw .newer(error)
    } catch {
      throw .malformed("not a job: \(Self.describe(error))")
    }
    if let defect = job.defect { throw .malformed(defect) }
    let attempt = delivery.properties.headers[attemptHeader]?.int ?? 1
    guard (1...1_000_000).contains(attempt) else { throw .malformed("attempt \(attempt)") }
    return (job, Int(attempt))
  }

  /// Builds the message that puts a delivery off, for a later look. Body and our own headers stay as they are.
  ///
  /// - Parameter queue: chooses the queue from the number of earlier delays.
  public static func putOff(_ delivery: AMQPDelivery, queue: (Int) -> String) -> AMQPMessage {
    let parks = Int(clamping: max(0, delivery.properties.headers[parksHeader]?.int ?? 0))
    var message = AMQPMessage(copying: delivery, to: queue(parks), keeps: isOwn)
    message.headers[parksHeader] = .int(Int64(min(parks, 1_000_000) + 1))
    message.headers["traceparent"] = delivery.properties.headers["traceparent"]
    if wasRedelivered(delivery) { message.headers[redeliveredHeader] = true }
    return message
  }

  /// Builds the message that buries a delivery with its reason. The body stays as it was.
  public static func dead(_ delivery: AMQPDelivery, reason: String, queue: String) -> AMQPMessage {
    var message = AMQPMessage(copying: delivery, to: queue, keeps: isOwn)
    message.headers[reasonHeader] = .string(String(reason.prefix(1000)))
    return message
  }

  /// Whether a header is ours. A copy takes no broker's header along.
  public static func isOwn(_ header: String) -> Bool { header.hasPrefix("countersign-") }

  private static func describe(_ error: any Error) -> String {
    switch error {
    case DecodingError.keyNotFound(let key, _): "\(key.stringValue) is missing"
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
      "\(context.codingPath.map(\.stringValue).joined(separator: ".")) has another type"
    default: "the body is not JSON"
    }
  }
}
