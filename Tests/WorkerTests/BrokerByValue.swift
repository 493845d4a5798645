import EventLoop
import Service

@testable import AMQP
@testable import Worker

/// The broker as the list of its messages.
@LoopActor
final class BrokerByValue: MessageBroker {
  /// The error of every publish that must succeed.
  var failure: AMQPError?
  /// Whether the broker holds the confirms of events back until ``confirmAll(_:)``.
  var holdsConfirms = false
  private var unanswered: [@LoopActor (AMQPMessage.Answer) -> Void] = []
  private(set) var messages: [AMQPMessage] = []

  nonisolated static let noConfirm = AMQPError(.timeout, operation: "publish", target: "broker", cause: "no confirm")

  func publish(_ message: AMQPMessage, then: @escaping @LoopActor (AMQPMessage.Answer) -> Void) {
    messages.append(message)
    if holdsConfirms { unanswered.append(then) } else { then(.success(())) }
  }

  func publishSurely(_ message: AMQPMessage) async throws {
    if let failure { throw failure }
    messages.append(message)
  }

  /// Answers everything that waits for a confirm.
  func confirmAll(_ answer: AMQPMessage.Answer = .success(())) {
    let waiting = unanswered
    unanswered = []
    for then in waiting { then(answer) }
  }

  /// The queue or exchange of each message.
  var queues: [String] { messages.map { $0.exchange.isEmpty ? $0.routingKey : $0.exchange } }
}

/// A message of the queue, and its fate.
@LoopActor
final class DeliveryByValue: JobDelivery {
  enum Fate: Equatable { case acknowledged, requeued, requeuedLater }

  let delivery: AMQPDelivery
  private(set) var fate: Fate?

  init(_ body: [UInt8], _ headers: [String: AMQPValue], isRedelivered: Bool = false) {
    var properties = AMQPProperties()
    properties.messageID = "m"
    properties.contentType = "application/json"
    properties.type = "job"
    properties.headers = headers
    delivery = AMQPDelivery(
      tag: 1, isRedelivered: isRedelivered, exchange: "", routingKey: "cs.jobs", properties: properties, body: body)
  }

  var hasCopy: Bool { false }

  func acknowledge() { fate = .acknowledged }
  func requeue() { fate = .requeued }
  func requeueLater() async { fate = .requeuedLater }
}
