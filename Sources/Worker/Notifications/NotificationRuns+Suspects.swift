import Coordination
import Domain
import EventLoop
import Formats
import Ledger
import Observability
import Service

/// Notifications that may have killed their workers (decision 0034).
///
/// A message that comes for the first time costs nothing here. If it comes again, or a sweep finds its notification,
/// Redis counts the runs that began and never ended.
extension NotificationRuns {
  /// Which notifications run beside others, and which alone.
  struct Ways {
    var beside: [NotificationKey]
    var alone: [Suspect] = []

    /// A notification that runs alone.
    struct Suspect {
      let key: NotificationKey
      /// How many of its runs never ended, this one with them.
      let crashes: Int
    }
  }

  /// How the notifications of a batch run. Those that are put aside, or that nobody can count now, are done.
  func ways(of batch: [NotificationKey: [Waiting]]) async -> Ways {
    let again = batch.keys.filter { isSuspect($0, batch) }
    var ways = Ways(beside: batch.keys.filter { !isSuspect($0, batch) })
    guard !again.isEmpty else { return ways }
    var fatal: [NotificationKey: Int] = [:]
    do {
      for (key, count) in zip(again, try await dependencies.begun.counts(again.map(Self.name))) {
        // Its worker died, or its message got lost: nobody can tell, and one crash has no consequence.
        switch Suspects.Way(crashes: count + 1) {
        case .beside: ways.beside.append(key)
        case .alone: ways.alone.append(Ways.Suspect(key: key, crashes: count + 1))
        case .never: fatal[key] = count + 1
        }
      }
    } catch {
      context.log.warning("Redis could not be asked for notifications that come again", ["cause": .failure(error)])
      done(again, batch)
      return ways
    }
    if !fatal.isEmpty { await putAside(fatal, batch) }
    return ways
  }

  /// Notes that runs begin.
  ///
  /// - Throws: `RedisError`: then the runs must not begin, and the sweep finds the notifications again.
  func count(_ keys: [NotificationKey]) async throws {
    // What several publishers have of one notification dies as one.
    try await dependencies.begun.begin(Set(keys.map(Self.name)).sorted())
  }

  /// Notes that runs have ended. A count that stays does little harm: the notification is applied, or a later run
  /// comes to its end sooner.
  func forget(_ keys: [NotificationKey]) async {
    do {
      try await dependencies.begun.end(Set(keys.map(Self.name)).sorted())
    } catch {
      context.log.debug("the end of a run could not be noted", ["cause": .failure(error)])
    }
  }

  /// Puts notifications aside, for every publisher that has them: they are the same bytes, and each publisher's copy
  /// would kill as many workers again. In the ledger they stay with the reason, until a person says what becomes of
  /// them.
  private func putAside(_ fatal: [NotificationKey: Int], _ batch: [NotificationKey: [Waiting]]) async {
    let reasons = fatal.reduce(into: [:]) {
      $0[$1.key.uuid] = "\($1.value) workers in a row died while they had it: it seems to kill its process"
    }
    let publishers = Set(context.publishers.all.map(\.id)).union(fatal.keys.map(\.publisherId))
    do {
      let aside = try await dependencies.ledger.putAside(reasons, of: publishers.sorted())
      for key in aside {
        context.log.error(
          "notification put aside",
          [
            "publisherId": .int(key.publisherId.number), "uuid": .string(key.uuid.text),
            "reason": .string(reasons[key.uuid] ?? ""),
          ])
      }
      metrics.putAside.add(Double(aside.count))
      // The ledger knows it now. If a person brings it back, it is no suspect.
      await forget(Array(fatal.keys))
    } catch {
      context.log.ledgerFailure("notifications could not be put aside", error)
    }
    done(fatal.keys, batch)
  }

  /// Publishers of one app have the same notification, and a worker that dies of it counts for all of them.
  private static func name(_ key: NotificationKey) -> String { "notification:\(key.uuid.text)" }
}
