import Configuration
import Coordination
import Domain
import EventLoop
import Observability
import Service

/// The leases of the runs in hand. A lease must not end before its run does, so they are renewed until the last run has
/// ended.
@LoopActor
final class HeldLeases: RoleService {
  private let leases: any JobLeases
  private let settings: WorkerSettings
  private let log: Log
  private var holders: [ObjectIdentifier: JobRun] = [:]
  private lazy var renewals = Chore(
    every: settings.leaseDuration / 3, after: settings.leaseDuration / 3, .last
  ) { [weak self] in self?.renewAll() }
  private let renewing = RunningTasks()

  /// While Redis runs a script, all other clients wait.
  private static let renewedAtOnce = 100

  init(_ leases: any JobLeases, _ settings: WorkerSettings, _ log: Log) {
    self.leases = leases
    self.settings = settings
    self.log = log
  }

  func start() { renewals.start() }

  /// Does nothing: what runs needs its lease until its end.
  func close() {}

  func stop(within grace: Duration) async { await renewing.finish(within: grace, after: renewals) }

  /// Keeps the lease of a run from ending.
  func hold(_ run: JobRun) { holders[ObjectIdentifier(run)] = run }

  /// Lets the lease of a run end by itself.
  func letGo(_ run: JobRun) { holders[ObjectIdentifier(run)] = nil }

  /// Renews every lease in hand.
  ///
  /// A run that has lost its lease goes on. At its end it drops its result if the lease has ended by its own clock.
  func renewAll() {
    let held = Array(holders.values)
    for start in stride(from: 0, to: held.count, by: Self.renewedAtOnce) {
      let some = Array(held[start..<min(start + Self.renewedAtOnce, held.count)])
      // All batches at once. If a run lets go of its lease meanwhile, Redis refuses to renew it: the record says that
      // the lease has ended.
      renewing.startNow { [self] in await renew(some) }
    }
  }

  private func renew(_ runs: [JobRun]) async {
    let start = ContinuousClock.now
    do {
      let areOurs = try await leases.renew(
        runs.map { (job: $0.job, lease: $0.lease) }, for: settings.leaseDuration, sweepAfter: settings.sweepAfter)
      // A run that has ended meanwhile has lost nothing.
      for (run, isOurs) in zip(runs, areOurs) where isOurs { run.leaseEnd = start + settings.leaseDuration }
      for (run, isOurs) in zip(runs, areOurs) where !isOurs && holders[ObjectIdentifier(run)] != nil {
        log.warning("lease lost", ["transactionId": .string(run.job.transactionId.text)])
      }
    } catch {
      log.debug("renewal failed", ["cause": .failure(error)])
    }
  }
}
