import AppStore
import Domain
import EventLoop
import Formats
import Ledger
import Observability

/// The numbers of the readings of Notification History.
@LoopActor
final class HistoryMetrics {
  let readings: Counter
  let notifications: Counter
  private let silent: Gauge
  private var oldest: Int64?
  private static let environments = [Environment.production, .sandbox]

  /// - Parameter now: tells milliseconds since 1970.
  init(_ metrics: Metrics, now: @escaping @Sendable () -> Int64) {
    readings = metrics.counter(
      "countersign_history_readings_total", "Readings of an app's Notification History.", labels: ["outcome"],
      known: HistoryReading.End.known.map { [$0.label] })
    notifications = metrics.counter(
      "countersign_history_notifications_total", "Notifications in the Notification History.", labels: ["outcome"],
      known: [["new"], ["known"], ["refused"]])
    silent = metrics.gauge(
      "countersign_silent_apps", "Apps that Apple has posted no notification about, for longer than usual.",
      labels: ["environment"])
    for environment in Self.environments { silent.set(0, environment.text) }
    metrics.gauge(
      "countersign_history_gap_seconds", "Time since the last complete reading, of the app where it is longest ago."
    ) { [weak self] in
      self?.oldest.map { Double(max(0, now().subtracting($0))) / 1000 } ?? 0
    }
  }

  /// Takes what the ledger knows.
  func note(_ summary: HistorySummary) {
    oldest = summary.oldest
    for environment in Self.environments {
      silent.set(Double(summary.silent[environment] ?? 0), environment.text)
    }
  }
}

/// What the ledger knows of all readings together, by value.
struct HistorySummary: Equatable {
  /// The end of the oldest complete reading, in milliseconds since 1970.
  private(set) var oldest: Int64?
  /// How many apps are silent.
  private(set) var silent: [Environment: Int] = [:]

  /// Adds an app. One that nobody has read to the end lacks everything that Apple still has.
  ///
  /// - Parameter now: milliseconds since 1970.
  mutating func add(_ source: NotificationSource, _ place: AppPlace, now: Int64) {
    if source.isSilent(at: now) { silent[place.environment, default: 0] += 1 }
    // Production does not answer about an app that was never released.
    if place.isUnknownToApple { return }
    let end = source.readThrough ?? now - HistoryPlan.reach(in: source.key.environment)
    oldest = min(oldest ?? end, end)
  }
}
