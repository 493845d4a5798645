import AMQP
import Configuration
import Coordination
import Domain
import EventLoop
import Import
import Ledger
import Messaging
import Postgres
import Redis
import Service
import Worker

/// The servers of `countersign import`: what its run works with.
@LoopActor
final class ImportServers {
  private static let round: Duration = .milliseconds(200)
  /// How long the ledger may take to notice that the process before was killed.
  private static let lockWait: Duration = .seconds(10)

  private let publisherId: PublisherId
  private let settings: Settings
  private let lock: ImportLock
  private let synchronizations: SynchronizationReader
  private let redis: RedisClient
  private let publisher: AMQPPublisher
  private let topology: Topology
  private var lockedAt = ContinuousClock.now

  init(_ publisherId: PublisherId, _ settings: Settings, _ postgres: PostgresClient) async {
    (self.publisherId, self.settings) = (publisherId, settings)
    let topology = Topology(settings)
    self.topology = topology
    lock = ImportLock(postgres, publisher: publisherId)
    synchronizations = SynchronizationReader(postgres)
    redis = await RedisClient.opened(RedisEndpoint(settings.redis))
    publisher = await afterFirstAttempt { onChange in
      let publisher = AMQPPublisher(
        { AMQPEndpoint(settings.rabbitmq) }, name: "countersign import", onChange: { _ in onChange() },
        declare: { _ = try await topology.declare(on: $0) })
      publisher.start()
      return publisher
    }
  }

  func stop() async {
    await publisher.stop()
    await redis.stop()
  }

  /// Waits until no other import of the publisher runs.
  ///
  /// - Throws: `ImportRun.Stopped`.
  func takeLock() async throws {
    let end = ContinuousClock.now + Self.lockWait
    while try await !lock.take() {
      guard ContinuousClock.now < end else {
        throw ImportRun.Stopped(
          description: "another import of publisher \(publisherId) is running; wait for its end")
      }
      try await EventLoop.sleep(for: Self.round)
    }
    lockedAt = .now
  }

  /// What a run over a file works with.
  func dependencies(
    signedTransaction: @escaping @LoopActor (ImportRow) async throws -> String?,
    tell: @escaping @LoopActor (Int) -> Void
  ) -> ImportRun.Dependencies {
    ImportRun.Dependencies(
      publisherId, settings, TransactionClaims(redis, prefix: settings.redis.prefix), publisher, topology,
      synchronizations, signedTransaction: signedTransaction,
      standing: { [self] in
        try await keepLock()
        return .ours
      }, tell: tell, failed: { complain("trying again: \($0)") })
  }

  private func keepLock() async throws {
    guard ContinuousClock.now - lockedAt > .seconds(5) else { return }
    lockedAt = .now
    guard try await lock.take() else {
      throw ImportRun.Stopped(description: "another import of publisher \(publisherId) has begun")
    }
  }
}
