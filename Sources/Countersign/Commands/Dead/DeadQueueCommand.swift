import AMQP
import Configuration
import Crypto
import Domain
import Doors
import EventLoop
import Formats
import JSON
import Ledger
import Messaging
import Postgres
import Service

/// What `countersign dead` does to one queue of the dead.
@LoopActor
struct DeadQueueCommand {
  private let options: DeadOptions
  private let configuration: LoadedConfiguration
  private let postgres: PostgresClient?
  private let topology: Topology

  init(_ options: DeadOptions, _ configuration: LoadedConfiguration, _ postgres: PostgresClient?) {
    (self.options, self.configuration, self.postgres) = (options, configuration, postgres)
    topology = Topology(configuration.settings)
  }

  func run(_ kind: DeadMessage.Kind) async throws {
    let connection = try await AMQPConnection.open(
      AMQPEndpoint(configuration.settings.rabbitmq), name: "countersign dead")
    do {
      try await refuseOldForm(of: topology.dead(kind), over: connection)
      try await work(kind, connection)
      await connection.close()
    } catch {
      await connection.close()
      throw error
    }
  }

  /// A queue of an earlier version does not say how often a message may come back. RabbitMQ 4 drops one after 20 looks.
  private func refuseOldForm(of queue: String, over connection: AMQPConnection) async throws {
    guard try await topology.declare(on: connection.openChannel()).contains(queue) else { return }
    throw DeadCommand.Refused(
      description: "an earlier version has made \(queue), and RabbitMQ 4 drops a message of it after 20 looks: "
        + "run countersign declare first, which makes it anew with its messages")
  }

  private func work(_ kind: DeadMessage.Kind, _ connection: AMQPConnection) async throws {
    let change = DeadQueueChange(
      kind, in: topology, over: connection, limit: options.action.changes ? options.most : .max,
      isDryRun: options.isDryRun || !options.action.changes)
    let audit = options.audit(postgres)
    let now = unixMilliseconds()
    let queues = DeliveryQueues(topology)
    var (matching, printed) = (0, 0)
    var kept: [DeadMessage.Obstacle: Int64] = [:]
    let outcome = try await change.run { messages, before in
      let isMeant = try await meant(messages, at: now)
      matching += isMeant.count { $0 }
      if !options.action.changes {
        for (index, message) in messages.enumerated() where isMeant[index] && printed < options.most {
          printed += 1
          say(line(message, position: before + index + 1))
        }
        return messages.map { _ in .stays }
      }
      guard options.action == .retry else { return isMeant.map { $0 ? .goes : .stays } }
      let disabled = try await disabledEndpoints(zip(messages, isMeant).filter(\.1).map(\.0))
      return zip(messages, isMeant).map { message, isMeant in
        guard isMeant else { return .stays }
        let retry = message.retry(
          in: topology, doors: DoorRegistry.catalog, isDisabled: message.endpointKey.map(disabled.contains) ?? false
        ) { queues.next(of: $0) }
        switch retry {
        case .again(let again): return .again(again)
        case .stays(let obstacle):
          kept[obstacle, default: 0] += 1
          return .stays
        }
      }
    } record: { messages in
      try await audit?.note(
        "dead.\(options.action.done)", kind.rawValue, of: messages.map(\.publisherId), filter: options.filter.json)
    }
    say(
      jsonLine { json in
        json.member("kind", kind.rawValue)
        json.member("looked", Int64(outcome.looked))
        json.member("matching", Int64(matching))
        guard options.action.changes else { return }
        json.member(options.action.done, Int64(options.isDryRun ? 0 : outcome.changed))
        guard !kept.isEmpty else { return }
        let reasons = kept.sorted { $0.key.rawValue < $1.key.rawValue }
        json.member("kept", json: JSONWriter.object(reasons.map { ($0.key.rawValue, Array(String($0.value).utf8)) }))
      })
  }

  /// Which of the messages the command is about.
  private func meant(_ messages: [DeadMessage], at now: Int64) async throws -> [Bool] {
    func apps(_ publisher: Int64) -> Set<BundleId> {
      Set(configuration.publishers[publisher]?.apps.map(\.bundleId) ?? [])
    }
    let isNamed = messages.map { options.filter.matches($0, at: now, apps: apps) }
    guard options.action == .erase, let postgres else { return isNamed }
    let customers = messages.reduce(into: Set<CustomerKey>()) { $0.formUnion($1.customers) }
    let times = try await CustomerStore(postgres).erasureTimes(customers)
    return zip(messages, isNamed).map { message, isNamed in isNamed && message.isErased { times[$0] } }
  }

  /// The endpoints of deliveries that are disabled.
  private func disabledEndpoints(_ messages: [DeadMessage]) async throws -> Set<EndpointKey> {
    guard let postgres else { return [] }
    let store = WebhookEndpointStore(postgres, doors: DoorRegistry.catalog) { SealingKeys() }
    var disabled: Set<EndpointKey> = []
    for (publisher, keys) in Dictionary(grouping: Set(messages.compactMap(\.endpointKey)), by: \.publisherId) {
      for (key, health) in zip(keys, try await store.health(publisher, keys.map(\.id))) where health.disabled != nil {
        disabled.insert(key)
      }
    }
    return disabled
  }

  private func line(_ message: DeadMessage, position: Int) -> String {
    let naming = PersonNaming(configuration.settings, isPlain: options.isPlain)
    return jsonLine { json in
      if options.action == .show {
        message.write(to: &json, position: position, naming)
      } else {
        message.writeLine(to: &json, position: position, naming)
      }
    }
  }
}

extension PersonNaming {
  /// Customers are named as in the log, or plainly for a person who asks for it.
  init(_ settings: Settings, isPlain: Bool) {
    self = isPlain ? .plain : PersonNaming(rawValue: settings.logCustomers.rawValue) ?? .hash
  }
}

/// An endpoint of a publisher.
private struct EndpointKey: Hashable {
  let publisherId: Int64
  let id: EndpointId
}

extension DeadMessage {
  fileprivate var endpointKey: EndpointKey? {
    guard let publisherId, let endpointId else { return nil }
    return EndpointKey(publisherId: publisherId, id: endpointId)
  }
}
