import AMQP
public import Configuration
import Crypto
public import Domain
public import EventLoop
import Ledger
public import Messaging
public import Postgres

/// What a person does to a queue of the dead, by the command `countersign dead` or at the console: looks, lets messages
/// run again, or drops them (decision 0047).
///
/// Each piece of work opens a connection of its own, and closes it.
@LoopActor
public struct DeadQueueWork {
  public enum Action: Sendable {
    case look, retry, drop
  }

  /// It would lose messages.
  public struct Refused: Error, CustomStringConvertible {
    public let description: String
  }

  /// What became of the messages.
  public struct Counts: Sendable, Equatable {
    /// How many messages were looked at.
    public var looked = 0
    /// How many of them are meant.
    public var matching = 0
    /// How many have left the queue, or would have.
    public var changed = 0
    /// How many stay although they are meant, by what is in the way.
    public var kept: [DeadMessage.Obstacle: Int64] = [:]

    public init(looked: Int = 0, matching: Int = 0, changed: Int = 0) {
      (self.looked, self.matching, self.changed) = (looked, matching, changed)
    }
  }

  private let settings: Settings
  private let doors: DoorCatalog
  private let postgres: PostgresClient?
  private let name: String
  private let topology: Topology

  /// - Parameters:
  ///   - postgres: knows which endpoints are disabled; `nil` for who only looks.
  ///   - name: that of the connection at the broker.
  public init(_ settings: Settings, doors: DoorCatalog, _ postgres: PostgresClient?, name: String) {
    (self.settings, self.doors, self.postgres, self.name) = (settings, doors, postgres, name)
    topology = Topology(settings)
  }

  /// Looks at each message once, the oldest first.
  ///
  /// - Parameters:
  ///   - limit: the most messages that leave the queue.
  ///   - mostLooked: after so many messages, it looks at no more.
  ///   - isDryRun: whether all of them stay.
  ///   - meant: which of some messages are meant.
  ///   - see: called with each message that is meant, and its place in the queue, from 1 on.
  ///   - record: notes durably that these messages leave the queue.
  /// - Throws: `AMQPError`, ``Refused``, or what the closures throw. Then some messages may be there twice, and none is
  ///   lost.
  public func run(
    _ action: Action, _ kind: DeadMessage.Kind, limit: Int = .max, mostLooked: Int = .max, isDryRun: Bool = false,
    meant: @LoopActor ([DeadMessage]) async throws -> [Bool],
    see: @LoopActor (DeadMessage, _ place: Int) -> Void = { _, _ in },
    record: @LoopActor ([DeadMessage]) async throws -> Void = { _ in }
  ) async throws -> Counts {
    let connection = try await AMQPConnection.open(AMQPEndpoint(settings.rabbitmq), name: name)
    do {
      try await refuseOldForm(of: topology.dead(kind), over: connection)
      let change = DeadQueueChange(
        kind, in: topology, over: connection, limit: limit, mostLooked: mostLooked,
        isDryRun: isDryRun || action == .look)
      var result = Counts()
      let counts = try await change.run { messages, before in
        let isMeant = try await meant(messages)
        result.matching += isMeant.count { $0 }
        for (place, message) in messages.enumerated() where isMeant[place] { see(message, before + place + 1) }
        switch action {
        case .look: return messages.map { _ in .stays }
        case .drop: return isMeant.map { $0 ? .goes : .stays }
        case .retry: return try await retries(messages, isMeant, &result.kept)
        }
      } record: {
        try await record($0)
      }
      (result.looked, result.changed) = (counts.looked, counts.changed)
      await connection.close()
      return result
    } catch {
      await connection.close()
      throw error
    }
  }

  /// A queue of an earlier version does not say how often a message may come back. RabbitMQ 4 drops one after 20 looks.
  private func refuseOldForm(of queue: String, over connection: AMQPConnection) async throws {
    guard try await topology.declare(on: connection.openChannel()).contains(queue) else { return }
    throw Refused(
      description: "an earlier version has made \(queue), and RabbitMQ 4 drops a message of it after 20 looks: "
        + "run countersign declare first, which declares it again and keeps its messages")
  }

  private func retries(
    _ messages: [DeadMessage], _ isMeant: [Bool], _ kept: inout [DeadMessage.Obstacle: Int64]
  ) async throws -> [DeadQueueChange.Fate] {
    let queues = DeliveryQueues(topology)
    let disabled = try await disabledEndpoints(zip(messages, isMeant).filter(\.1).map(\.0))
    return zip(messages, isMeant).map { message, isMeant in
      guard isMeant else { return .stays }
      let retry = message.retry(
        in: topology, doors: doors, isDisabled: message.endpoint.map(disabled.contains) ?? false
      ) { queues.next(of: $0) }
      switch retry {
      case .again(let again): return .again(again)
      case .stays(let obstacle):
        kept[obstacle, default: 0] += 1
        return .stays
      }
    }
  }

  /// The endpoints of deliveries that are disabled.
  private func disabledEndpoints(_ messages: [DeadMessage]) async throws -> Set<Endpoint> {
    guard let postgres else { return [] }
    let store = WebhookEndpointStore(postgres, doors: doors) { SealingKeys() }
    var disabled: Set<Endpoint> = []
    for (publisher, keys) in Dictionary(grouping: Set(messages.compactMap(\.endpoint)), by: \.publisherId) {
      for (key, health) in zip(keys, try await store.health(publisher, keys.map(\.id))) where health.disabled != nil {
        disabled.insert(key)
      }
    }
    return disabled
  }
}

/// An endpoint of a publisher.
private struct Endpoint: Hashable {
  let publisherId: PublisherId
  let id: EndpointId
}

extension DeadMessage {
  fileprivate var endpoint: Endpoint? {
    guard let publisherId, let endpointId else { return nil }
    return Endpoint(publisherId: publisherId, id: endpointId)
  }
}
