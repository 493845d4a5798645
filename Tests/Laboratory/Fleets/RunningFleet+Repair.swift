import EventLoop

extension RunningFleet {
  /// What a role repairs.
  public enum Repair: CaseIterable, Sendable {
    case outbox, jobs, deliveries, owedEvents

    /// The role, the metric that counts it, and what the count says.
    fileprivate var count: (role: String, metric: String, meaning: String) {
      switch self {
      case .outbox:
        ("worker", "countersign_outbox_events_total", "events were published late, by a sweep of the outbox")
      case .jobs: ("worker", "countersign_swept_jobs_total", "jobs were enqueued again by a sweep")
      case .deliveries:
        ("notifier", "countersign_deliveries_enqueued_again_total", "deliveries were enqueued again by a sweep")
      case .owedEvents: ("worker", "countersign_subscriber_owed_events", "events are owed to subscribers")
      }
    }
  }

  /// Whether environment variables ask a role for a fault (`TestFaults`).
  nonisolated static func breaks(_ overrides: [String: String]) -> Bool {
    overrides.keys.contains { $0.hasPrefix("COUNTERSIGN_TEST_") }
  }

  /// What the roles have repaired, a sentence for each role and kind; empty if everything went its main way, or that of
  /// ``sweptWays``.
  ///
  /// A role that is not ready any more has nothing to say.
  public func repairs() async -> [String] {
    var found: [String] = []
    for name in roles.keys.sorted() {
      for repair in Repair.allCases where !sweptWays.contains(repair) && name.hasPrefix(repair.count.role) {
        let (_, metric, meaning) = repair.count
        guard let count = try? await self.metric(name, metric), count > 0 else { continue }
        found.append("\(name): \(Int(count)) \(meaning)")
      }
    }
    return found
  }

  /// Makes sure that no sweep has hidden a broken main way.
  ///
  /// Whoever breaks something may need a repair: a test of ``TestServers/mayBreak``, and a fleet that ``mayRepair``. So
  /// may a machine that stood still: a sweep believes that an event is lost when it waits for five seconds.
  ///
  /// One slow turn of any role waives all counts. It does not say how long the servers had no processor, which tell
  /// nothing here: a broker that confirms late makes an outbox look left behind, without a slow turn of the worker.
  ///
  /// - Throws: ``NeededRepair``.
  func requireIdleSweeps() async throws {
    guard !TestServers.mayBreak, !mayRepair else { return }
    let found = await neededRepairs()
    guard !found.isEmpty else { return }
    throw NeededRepair(description: "nothing was broken, and yet " + found.joined(separator: "; "))
  }

  /// The same as ``repairs()``, but nothing if the machine stood still for a moment.
  public func neededRepairs() async -> [String] {
    let found = await repairs()
    return found.isEmpty || !logged(Self.slowTurn).isEmpty ? [] : found
  }

  /// The line of a process that had no processor for a while.
  private nonisolated static let slowTurn = "\"event\":\"slow turn of the loop\""
}

/// A fleet in which nothing was broken needed a sweep.
public struct NeededRepair: Error, CustomStringConvertible {
  public let description: String
}
