import CRabbitMQ
import Domain
import Doors
import Formats
import JSON
import Ledger

@testable import AMQP
@testable import Messaging
@testable import Notifier

/// What comes from the broker: frames, and the messages of every queue with their headers.
enum BrokerMessages {
  private static let now: Int64 = 1_790_000_000_000
  private static let headers = [
    JobMessage.attemptHeader, JobMessage.redeliveredHeader, JobMessage.dueHeader, JobMessage.parksHeader,
    "countersign-endpoint", "countersign-round", "countersign-planned", "countersign-misses", "countersign-waited",
    JobMessage.reasonHeader, JobMessage.causeHeader, JobMessage.buriedHeader, "traceparent", "version",
    "cloudEvents_time", "cloudEvents_source",
  ]

  static func run(_ input: [UInt8]) {
    readFrames(input)
    var parts = FuzzInput(input)
    var properties = AMQPProperties()
    properties.messageID = parts.text()
    for name in headers {
      switch parts.byte() % 5 {
      case 0: properties.headers[name] = .int(parts.number())
      case 1: properties.headers[name] = .string(parts.text())
      case 2: properties.headers[name] = .bool(parts.byte() > 0)
      case 3: properties.headers[name] = .other
      default: break
      }
    }
    read(
      AMQPDelivery(
        tag: 1, isRedelivered: false, exchange: "", routingKey: "", properties: properties, body: Array(parts.rest)))
  }

  private static func read(_ message: AMQPDelivery) {
    if let (job, attempt) = try? JobMessage.read(message, doors: DoorRegistry.catalog) {
      _ = JobDelayQueue(due: JobMessage.due(message), now: now)
      _ = JobMessage.message(job, attempt: attempt, queue: "q", due: JobMessage.due(message))
      _ = (job.claim.encoded, max(0, now.subtracting(job.registeredAt)))
      let policy = JobRetryPolicy(schedule: [.seconds(1), .seconds(3600)], notFoundRetries: 2)
      _ = NextStep.after(.failed(.network), attempt: attempt, policy: policy)
    }
    _ = JobMessage.putOff(message) { "q\($0)" }
    _ = JobMessage.dead(message, reason: "r", queue: "q")
    _ = (NotificationMessage.read(message)?.uuid, ReplyMessage.read(message)?.result)
    readDead(message)
    guard var delivery = try? Delivery(message) else { return }
    _ = (
      DeliveryDelayQueue(due: delivery.due, now: now), DeliveryDelayQueue.postponement(delivery.parks),
      delivery.notification
    )
    for format in DoorRegistry.catalog.formats {
      let endpoint = WebhookEndpoint(id: "e", url: "u", topics: [], format: format, secrets: [.init(key: [1])])
      _ = WebhookPayload(delivery, endpoint, keys: [[1]])
    }
    // As a notifier counts.
    delivery.attempt += 1
    delivery.parks += 1
    delivery.misses += 1
    delivery.waited += 86_400_000
    _ = delivery.message(queue: "q", reason: "r")
  }

  /// As an operator's command looks at it.
  private static func readDead(_ message: AMQPDelivery) {
    var filter = DeadFilter()
    (filter.app, filter.customer, filter.olderThan) = ("com.example.app", "kim", .seconds(1))
    for kind in DeadMessage.Kind.allCases {
      let dead = DeadMessage(kind, message)
      _ = filter.matches(dead, at: now) { _ in ["com.example.app"] }
      _ = (dead.isErased { _ in now }, dead.names("kim"))
      _ = dead.retry(in: Topology(prefix: "q"), doors: DoorRegistry.catalog, isDisabled: false) { "q\($0)" }
      for naming in [PersonNaming.hash, .plain, .none] {
        var json = JSONWriter()
        dead.write(to: &json, position: 1, naming)
      }
    }
  }

  private static func readFrames(_ input: [UInt8]) {
    let decoder = FrameDecoder(frameMax: 4096)
    var login = AMQPLogin(to: AMQPEndpoint(host: "h"), name: "n")
    var answers = FrameBuffer(frameMax: 1 << 16)
    var confirms = PublishConfirms<Int>()
    for number in 0..<3 { confirms.add("m\(number)", number) }
    var assembly = ContentAssembly<Void>()
    // In two pieces, so that frames are cut.
    let half = input.count / 2
    for piece in [input[..<half], input[half...]] {
      piece.withUnsafeBytes { bytes in
        var rest = bytes
        while let frame = try? decoder.next(from: &rest) {
          take(frame, &login, &answers, &confirms, &assembly)
        }
      }
    }
  }

  private static func take(
    _ frame: amqp_frame_t, _ login: inout AMQPLogin, _ answers: inout FrameBuffer,
    _ confirms: inout PublishConfirms<Int>, _ assembly: inout ContentAssembly<Void>
  ) {
    switch Int32(frame.frame_type) {
    case AMQP_FRAME_METHOD:
      let method = frame.payload.method
      switch method.id {
      case AMQP_BASIC_DELIVER_METHOD:
        let deliver = method.decoded.assumingMemoryBound(to: amqp_basic_deliver_t.self).pointee
        _ = [deliver.consumer_tag, deliver.exchange, deliver.routing_key].map { String(copying: $0) }
        assembly.begin(())
      case AMQP_BASIC_ACK_METHOD:
        let ack = method.decoded.assumingMemoryBound(to: amqp_basic_ack_t.self).pointee
        _ = confirms.settled(ack.delivery_tag, multiple: ack.multiple != 0, isAck: true)
      default:
        if case .done(let agreement) = login.receive(method, &answers) {
          _ = FrameBuffer(frameMax: agreement.frameMax)
        }
      }
    case AMQP_FRAME_HEADER:
      let header = frame.payload.properties
      guard let decoded = header.decoded, header.class_id == AMQP_BASIC_CLASS else { return }
      let properties = AMQPProperties(copying: decoded.assumingMemoryBound(to: amqp_basic_properties_t.self).pointee)
      _ = assembly.header(properties, bodySize: Int(clamping: header.body_size))
    case AMQP_FRAME_BODY:
      let piece = frame.payload.body_fragment
      _ = assembly.body(UnsafeRawBufferPointer(start: piece.bytes, count: piece.len))
    default: break
    }
  }
}
