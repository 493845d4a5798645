import Configuration
import Domain
import EventLoop
import Observability
import Store

/// The leases of the runs in hand, which must not end before the runs do.
@LoopActor
final class HeldLeases {
  private let store: any JobStore
  private let settings: WorkerSettings
  private let log: Log
  private var holders: [ObjectIdentifier: JobRun] = [:]

  /// A script of Redis' holds up everybody else's.
  private static let renewedAtOnce = 100

  init(_ store: any JobStore, _ settings: WorkerSettings, _ log: Log) {
    self.store = store
    self.settings = settings
    self.log = log
  }

  /// Keeps the lease of a run from ending.
  func hold(_ run: JobRun) { holders[ObjectIdentifier(run)] = run }

  /// Lets the lease of a run end by itself.
  func letGo(_ run: JobRun) { holders[ObjectIdentifier(run)] = nil }

  /// Renews every lease in hand. A lost one is not acted upon: the fencing number decides at the end.
  func renewAll() {
    let held = Array(holders.values)
    for start in stride(from: 0, to: held.count, by: Self.renewedAtOnce) {
      let some = Array(held[start..<min(start + Self.renewedAtOnce, held.count)])
      // At once: what is let go of meanwhile is refused by Redis, as the record of its lease says that it has ended.
      Task.immediate { @LoopActor in await renew(some) }
    }
  }

  private func renew(_ runs: [JobRun]) async {
    do {
      let areOurs = try await store.renewLeases(
        runs.map { (job: $0.job, lease: $0.lease) }, for: settings.leaseDuration, sweepAfter: settings.sweepAfter)
      // A run that has ended meanwhile has not lost anything.
      for (run, isOurs) in zip(runs, areOurs) where !isOurs && holders[ObjectIdentifier(run)] != nil {
        log.warning("lease lost", ["transactionId": .string(run.job.transactionId)])
      }
    } catch {
      log.debug("renewal failed", ["cause": .failure(error)])
    }
  }
}
