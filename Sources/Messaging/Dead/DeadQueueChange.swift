public import AMQP
public import EventLoop

/// Changes a queue of the dead: each message stays, goes for good, or is replaced by one that runs again.
///
/// Nothing leaves the queue before the broker has confirmed what takes its place, and before it is on record. Killed in
/// between, the message is there twice.
@LoopActor
public struct DeadQueueChange {
  /// What becomes of one message.
  public enum Fate: Sendable {
    case stays
    /// It goes, and nothing takes its place.
    case goes
    case again(AMQPMessage)

    var leaves: Bool { if case .stays = self { false } else { true } }
  }

  /// What a change did.
  public struct Counts: Sendable, Equatable {
    /// How many messages the queue had at the beginning, and the command has looked at.
    public var looked = 0
    /// How many have left it, or would have.
    public var changed = 0
  }

  let kind: DeadMessage.Kind
  let queue: String
  let connection: AMQPConnection
  /// The most messages that leave the queue.
  let limit: Int
  /// After so many messages, the change looks at no more.
  let mostLooked: Int
  let isDryRun: Bool

  /// Creates a change.
  public init(
    _ kind: DeadMessage.Kind, in topology: Topology, over connection: AMQPConnection, limit: Int = .max,
    mostLooked: Int = .max, isDryRun: Bool = false
  ) {
    self.kind = kind
    queue = topology.dead(kind)
    self.connection = connection
    (self.limit, self.mostLooked) = (limit, mostLooked)
    self.isDryRun = isDryRun
  }

  /// Looks at each message once.
  ///
  /// - Parameters:
  ///   - decide: the fates of some messages, in their order; the number tells how many were before them.
  ///   - record: notes durably that these messages leave the queue.
  /// - Throws: `AMQPError`, or what the closures throw. Then some messages may be there twice, and none is lost.
  public func run(
    decide: @LoopActor ([DeadMessage], _ before: Int) async throws -> [Fate],
    record: @LoopActor ([DeadMessage]) async throws -> Void
  ) async throws -> Counts {
    var (before, changed) = (0, 0)
    let publisher = try await connection.openChannel()
    try await publisher.enableConfirms()
    let looked = try await DeadQueueLook.run(queue, over: connection) { some in
      let messages = some.map { DeadMessage(kind, $0) }
      let fates = try await decide(messages, before)
      before += some.count
      let leaving = zip(messages, fates).filter { $0.1.leaves }.prefix(limit - changed)
      changed += leaving.count
      let goesOn = changed < limit && before < mostLooked
      guard !isDryRun, !leaving.isEmpty else { return DeadQueueLook.Step(goesOn: goesOn) }
      try await publish(leaving.map(\.1), on: publisher)
      try await record(leaving.map(\.0))
      return DeadQueueLook.Step(settled: leaving.map(\.0.delivery), goesOn: goesOn)
    }
    await publisher.close()
    return Counts(looked: looked, changed: changed)
  }

  /// Returns once the broker has confirmed each message.
  private func publish(_ fates: [Fate], on channel: AMQPChannel) async throws {
    let publishing = fates.compactMap { fate -> Task<Void, any Error>? in
      guard case .again(let message) = fate else { return nil }
      return Task { @LoopActor in try await channel.publish(message) }
    }
    _ = try await publishing.allValues()
  }
}

extension Topology {
  /// The queue of the dead of a kind.
  public func dead(_ kind: DeadMessage.Kind) -> String {
    switch kind {
    case .jobs: deadJobs
    case .deliveries: deadDeliveries
    }
  }
}
