import AMQP
import Domain
import EventLoop
import Messaging
import Observability

/// Enqueues jobs again that waited for long, and that neither the broker nor Redis has any more.
@LoopActor
struct LedgerSweep {
  /// Takes the jobs out of the ledger whose time was long ago.
  let takeOverdue: @LoopActor () async throws -> [Job]
  let publish: @LoopActor (AMQPMessage) async throws -> Void
  let topology: Topology
  let log: Log

  /// Looks once.
  ///
  /// - Returns: how many jobs it took. If the broker does not take one, the next look finds it again.
  func run() async -> Int {
    do {
      let jobs = try await takeOverdue()
      for job in jobs { try await publish(JobMessage.message(job, attempt: 1, queue: topology.jobs(job.lane))) }
      return jobs.count
    } catch {
      log.warning("sweep of the ledger failed", ["cause": .failure(error)])
      return 0
    }
  }
}
