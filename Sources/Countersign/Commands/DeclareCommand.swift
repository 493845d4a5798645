import AMQP
import Configuration
import Domain
import EventLoop
import Messaging
import Service

/// `countersign declare`: declares the exchanges and queues, for roles whose account may not.
enum DeclareCommand {
  @LoopActor
  static func run(_ arguments: [String]) async -> Int32 {
    let settings: Settings
    do {
      settings = try ConfigurationLoader(arguments, command: "declare").settings()
    } catch {
      complain("\(error)")
      return 2
    }
    do {
      let connection = try await AMQPConnection.open(AMQPEndpoint(settings.rabbitmq), name: "countersign declare")
      let channel = try await connection.openChannel()
      let topology = Topology(settings)
      if try await !topology.declare(on: channel).isEmpty { say("declaring the dead queues again …") }
      try await topology.renewDeadQueues(over: connection) { say($0) }
      for name in settings.events.subscribers { try await topology.declareEvents(for: name, on: channel) }
      await connection.close()
      let exchanges = [topology.events] + settings.events.subscribers.map(topology.events(for:))
      say("\(topology.queues.count) queues are there, and the exchanges \(exchanges.joined(separator: ", "))")
      return 0
    } catch {
      complain(error, by: "declare")
      return 1
    }
  }
}
