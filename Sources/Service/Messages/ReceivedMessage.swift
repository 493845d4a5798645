public import AMQP
public import EventLoop

/// A message of a queue, and the ways to settle it.
@LoopActor
public protocol ReceivedMessage {
  var delivery: AMQPDelivery { get }
  /// Takes the message off the queue.
  func acknowledge()
  /// Gives the message back. Use it only for a consumer that stops.
  func requeue()
  /// Gives the message back after a pause, since a requeue at once would be a tight loop.
  func requeueLater() async
}

extension AMQPConsumer.Received: ReceivedMessage {}
