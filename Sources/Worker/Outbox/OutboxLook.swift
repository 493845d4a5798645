import AMQP
import Domain
import EventLoop
import Ledger
import Observability
import Service

/// One look into the outbox: takes the published events out of it, and publishes the others.
@LoopActor
struct OutboxLook {
  /// Takes the events out that the broker has confirmed.
  let flush: @LoopActor () async -> Void
  /// Whether the broker takes events.
  let isBrokerReady: @LoopActor () -> Bool
  /// Takes events that have waited for too long.
  let takeOverdue: @LoopActor () async throws -> Told
  let publish: @LoopActor (consuming Told) -> Void
  let log: Log

  /// Looks once.
  ///
  /// - Returns: how many events nobody had published.
  func run() async -> Int {
    await flush()
    // Whoever takes events and cannot publish them keeps others from doing it.
    guard isBrokerReady() else { return 0 }
    do {
      let told = try await takeOverdue()
      let count = told.count
      guard count > 0 else { return 0 }
      log.warning("publishing from the outbox", ["events": .int(Int64(count))])
      publish(told)
      return count
    } catch {
      log.warning("the outbox could not be read", ["cause": .failure(error)])
      return 0
    }
  }
}

extension OutboxLook {
  /// How often a worker looks.
  private static let interval = Duration.seconds(2)
  /// After this long an event in the outbox is published again.
  private static let patience = Duration.seconds(5)

  /// The chore of a worker.
  static func chore(_ parts: WorkerParts) -> Chore {
    let look = OutboxLook(
      flush: { [commits = parts.commits] in await commits.flushConfirmed() },
      isBrokerReady: { [publisher = parts.publisher] in publisher.isReady },
      takeOverdue: { [postgres = parts.ledger.postgres] in
        try await Outbox(postgres).takeOverdue(olderThan: patience, limit: 500)
      }, publish: { [outlet = parts.outlet] in outlet.publishLate($0) }, log: parts.context.log)
    return Chore(
      every: interval, isReady: { [ledger = parts.ledger] in ledger.isReady },
      look: { [metrics = parts.metrics] in metrics.outbox.add(Double(await look.run())) })
  }
}
