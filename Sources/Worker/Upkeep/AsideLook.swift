import AMQP
import Configuration
import EventLoop
import Ledger
import Messaging
import Observability
import Service

/// Counts what waits for a person: dead jobs at the broker, and notifications in the ledger that were put aside.
@LoopActor
struct AsideLook {
  /// How many dead jobs there are; `nil` while the broker cannot be asked.
  let deadJobs: @LoopActor () async throws -> Int?
  /// How many notifications were put aside; `nil` while the ledger cannot be asked.
  let notifications: @LoopActor () async throws -> Int?
  let log: Log

  /// What a look has counted. What could not be counted keeps its last number.
  struct Counts: Equatable {
    var deadJobs: Int?
    var notifications: Int?
  }

  /// Looks once.
  func run() async -> Counts {
    var counts = Counts()
    do {
      counts.deadJobs = try await deadJobs()
    } catch {
      log.debug("dead jobs could not be counted", ["cause": .failure(error)])
    }
    do {
      counts.notifications = try await notifications()
    } catch {
      log.ledgerFailure("notifications that are put aside could not be counted", error)
    }
    return counts
  }
}

extension AsideLook {
  /// The chore of a worker.
  static func chore(_ parts: WorkerParts) -> Chore {
    let (ledger, publisher, queue, metrics) = (parts.ledger, parts.publisher, parts.topology.deadJobs, parts.metrics)
    let look = AsideLook(
      deadJobs: {
        guard let channel = publisher.channel else { return nil }
        return Int(try await channel.depth(of: queue))
      },
      notifications: {
        guard ledger.isReady else { return nil }
        return Int(try await NotificationStore(ledger.postgres).countPutAside())
      }, log: parts.context.log)
    return Chore(every: parts.context.settings.worker.sweepInterval, .dropped) {
      let counts = await look.run()
      if let count = counts.deadJobs { metrics.deadMessages.set(Double(count), queue) }
      if let count = counts.notifications { metrics.putAside.set(Double(count)) }
    }
  }
}
