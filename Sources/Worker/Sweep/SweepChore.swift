import AMQP
import Configuration
import Coordination
import Domain
import EventLoop
import Ledger
import Messaging
import Observability
import Service

extension Sweep {
  /// The chore of a worker: enqueues again what no queue holds any more, first by Redis' list and then by the ledger.
  ///
  /// - Parameter jobsWait: called when a look has found that jobs of a lane wait at the broker.
  static func chore(_ parts: WorkerParts, jobsWait: @escaping @LoopActor (JobLane) -> Void) -> Chore {
    let (settings, log, metrics) = (parts.context.settings.worker, parts.context.log, parts.metrics)
    let (open, publisher, topology, ledger) = (parts.open, parts.publisher, parts.topology, parts.ledger)
    let (doors, after) = (parts.context.doors, settings.sweepAfter)
    let ledgerSweep = LedgerSweep(
      takeOverdue: {
        try await WaitingSynchronizations(ledger.postgres).takeOverdue(by: after, limit: 500, doors: doors)
      }, publish: { try await publisher.publish($0) }, topology: topology, log: log)
    let filling = Filling()
    let look: @LoopActor () async -> Void = {
      guard let channel = publisher.channel else { return }
      let round = filling.lanes.begin(at: .now, every: settings.sweepInterval)
      for lane in round.lanes {
        let sweep = Sweep(
          dueJobs: {
            try await open.dueJobs(lane, limit: Sweep.mostAtOnce, lookAgainAfter: after, overdueBy: $0, doors: doors)
          },
          waiting: {
            let jobs = Int(try await channel.declareQueue(topology.jobs(lane), passive: true).messages)
            if jobs > 0 { jobsWait(lane) }
            return jobs
          }, publish: { try await publisher.publish($0) }, topology: topology, interval: after, lane: lane, log: log)
        let found = await sweep.run(isFilling: filling.lanes.isFilling(lane))
        metrics.swept.add(Double(found.count))
        metrics.hurried.add(Double(found.hurried))
        filling.lanes.note(found.pause, of: lane)
      }
      if round.isWhole, ledger.isReady { metrics.swept.add(Double(await ledgerSweep.run())) }
      filling.goOn()
    }
    let redis = parts.redis
    let chore = Chore(
      every: settings.sweepInterval, .dropped, isReady: { redis.isReady && publisher.isReady }, look: look)
    filling.chore = chore
    return chore
  }

  /// What a look leaves to the next one.
  @LoopActor
  private final class Filling {
    weak var chore: Chore?
    var lanes = SweepFilling()

    /// Lets the next look come in time. A look that ends must ask: a timer that fires during a look asks in vain.
    func goOn() {
      guard let pause = lanes.pause else { return }
      if pause > .zero { chore?.look(after: pause) } else { chore?.lookNow() }
    }
  }
}
