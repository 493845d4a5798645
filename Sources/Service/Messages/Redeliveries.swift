public import AMQP
public import EventLoop
public import Observability

/// Notes the messages that a role gets a second time: a process has died with them, or a connection was lost.
@LoopActor
public struct Redeliveries {
  private let counter: Counter
  private let log: Log

  /// - Parameter counter: `countersign_redeliveries_total`.
  public init(_ counter: Counter, _ log: Log) { (self.counter, self.log) = (counter, log) }

  /// Notes a delivery, if the broker marks it as redelivered.
  public func note(_ delivery: AMQPDelivery) {
    guard delivery.isRedelivered else { return }
    counter.count()
    log.info("delivered again", ["messageId": .string(delivery.properties.messageID ?? "")])
  }
}
