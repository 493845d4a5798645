import AMQP
import Domain
import EventLoop
import Messaging
import Observability
import Service

/// Tells a gateway that the synchronization for which a request waits there is finalized.
///
/// A lost reply only costs that gateway time: it asks the ledger before the request's time is over.
@LoopActor
final class ReplyOutlet {
  private let broker: any MessageBroker
  private let log: Log
  /// How many replies wait for their confirm.
  private(set) var underWay = 0

  /// A broker that confirms nothing must not fill the memory. More replies than these are dropped.
  static let most = 4096

  init(_ broker: any MessageBroker, _ log: Log) { (self.broker, self.log) = (broker, log) }

  /// Sends the result to the queue that the job names; nothing if it names none.
  func reply(to job: Job, _ result: SynchronizationResult?) {
    guard let queue = job.replyTo, let result else { return }
    guard underWay < Self.most else {
      return log.debug("too many replies wait for the broker", ["queue": .string(queue)])
    }
    underWay += 1
    broker.publish(ReplyMessage.message(job.synchronizationId, result, to: queue)) { [self] answer in
      underWay -= 1
      guard case .failure(let error) = answer else { return }
      log.debug("nobody waits for the reply", ["queue": .string(queue), "cause": .failure(error)])
    }
  }
}
