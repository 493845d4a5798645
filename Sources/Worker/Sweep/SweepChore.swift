import AMQP
import Configuration
import Coordination
import EventLoop
import Ledger
import Messaging
import Observability
import Service

extension Sweep {
  /// The chore of a worker: enqueues again what no queue holds any more, first by Redis' list and then by the ledger.
  ///
  /// - Parameter jobsWait: called when a look has found that jobs wait at the broker.
  static func chore(_ parts: WorkerParts, jobsWait: @escaping @LoopActor () -> Void) -> Chore {
    let (settings, log, metrics) = (parts.context.settings.worker, parts.context.log, parts.metrics)
    let (open, publisher, topology, ledger) = (parts.open, parts.publisher, parts.topology, parts.ledger)
    let (doors, after) = (parts.context.doors, settings.sweepAfter)
    let ledgerSweep = LedgerSweep(
      takeOverdue: {
        try await WaitingSynchronizations(ledger.postgres).takeOverdue(by: after, limit: 500, doors: doors)
      }, publish: { try await publisher.publish($0) }, queue: topology.jobs, log: log)
    let look: @LoopActor () async -> Void = {
      guard let channel = publisher.channel else { return }
      let sweep = Sweep(
        dueJobs: { try await open.dueJobs(limit: 500, lookAgainAfter: after, overdueBy: $0, doors: doors) },
        waiting: {
          let jobs = try await channel.declareQueue(topology.jobs, passive: true).messages
          if jobs > 0 { jobsWait() }
          return Int(jobs)
        }, publish: { try await publisher.publish($0) }, queue: topology.jobs, interval: after, log: log)
      metrics.swept.add(Double(await sweep.run()))
      if ledger.isReady { metrics.swept.add(Double(await ledgerSweep.run())) }
    }
    let redis = parts.redis
    return Chore(
      every: settings.sweepInterval, .dropped, isReady: { redis.isReady && publisher.isReady }, look: look)
  }
}
