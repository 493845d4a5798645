import Domain
import EventLoop
import Ledger

/// Decides by value which readings of Notification History a worker begins, and what follows them.
enum HistoryTaking {
  /// The readings that are due and that nobody has, the oldest first. One that nobody ever finished comes before all.
  ///
  /// - Parameters:
  ///   - states: what the ledger knows of each source, with what the caller knows of it.
  ///   - now: milliseconds since 1970.
  static func due<Known>(
    _ states: [(state: NotificationSources.State, known: Known)], _ plan: HistoryPlan, now: Int64
  ) -> [(source: NotificationSource, known: Known)] {
    oldest(
      states.filter { $0.state.isFree && plan.isDue($0.state.source, now: now) }.map { ($0.state.source, $0.known) })
  }

  /// So many of some readings, the oldest first.
  static func oldest<Known>(
    _ readings: [(source: NotificationSource, known: Known)], _ most: Int = .max
  ) -> [(source: NotificationSource, known: Known)] {
    Array(readings.sorted { ($0.source.readThrough ?? 0) < ($1.source.readThrough ?? 0) }.prefix(most))
  }

  /// How long nobody reads a source after a reading; `nil` if the plan says it.
  ///
  /// A worker that stops leaves the reading to the next one. After a failure the next interval tries again.
  static func pause(after end: HistoryReading.End, interval: Duration) -> Duration? {
    switch end {
    case .complete: nil
    case .stopped: .zero
    case .heldBack, .notReleased, .refused, .failed: interval
    }
  }
}
