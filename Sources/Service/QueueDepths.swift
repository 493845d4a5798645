public import AMQP
public import EventLoop
import Observability

/// Counts the messages that wait in a role's queues.
@LoopActor
public struct QueueDepths {
  /// How many messages a queue has; `nil` while the broker cannot be asked.
  let depth: @LoopActor (String) async throws -> Int?
  let queues: [String]
  let log: Log

  /// Looks once. A queue that could not be counted is left out, and keeps its last number.
  func run() async -> [(queue: String, messages: Int)] {
    var found: [(queue: String, messages: Int)] = []
    for queue in queues {
      do {
        guard let messages = try await depth(queue) else { continue }
        found.append((queue, messages))
      } catch {
        log.debug("a queue could not be counted", ["queue": .string(queue), "cause": .failure(error)])
      }
    }
    return found
  }

  /// The chore of a role.
  public static func chore(_ context: RoleContext, _ publisher: AMQPPublisher, of queues: [String]) -> Chore {
    let gauge = context.metrics.gauge(
      "countersign_queue_messages", "Messages that wait in a queue of the role.", labels: ["queue"])
    for queue in queues { gauge.set(0, queue) }
    let look = QueueDepths(
      depth: { try await publisher.channel?.depth(of: $0) }, queues: queues, log: context.log)
    return Chore(
      every: .seconds(10), .dropped, isReady: { publisher.isReady },
      look: { for (queue, messages) in await look.run() { gauge.set(Double(messages), queue) } })
  }
}
