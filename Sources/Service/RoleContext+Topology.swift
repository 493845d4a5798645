public import AMQP
import EventLoop
public import Messaging
import Observability

extension RoleContext {
  /// Returns what declares the exchanges and queues on each new connection. It warns of queues of the dead that an
  /// earlier version has made: they work, but nothing bounds them.
  public func declaring(_ topology: Topology) -> @LoopActor (AMQPChannel) async throws -> Void {
    { [log] channel in
      let endless = try await topology.declare(on: channel)
      guard !endless.isEmpty else { return }
      log.warning(
        "a dead queue has no maximum length: run countersign declare, which declares it again and keeps its messages",
        ["queues": .string(endless.joined(separator: ", "))])
    }
  }
}
