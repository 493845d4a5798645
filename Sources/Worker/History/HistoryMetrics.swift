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
  private static let environments = [AppStoreEnvironment.production, .sandbox]

  /// - Parameter now: tells milliseconds since 1970.
  init(_ metrics: Metrics, now: @escaping @Sendable () -> Int64) {
    readings = metrics.counter(
      "countersign_history_readings_total", "Readings of Notification History by their end.", labels: ["outcome"],
      known: HistoryReading.End.known.map { [$0.label] })
    notifications = metrics.counter(
      "countersign_history_notifications_total", "Notifications that Notification History had.", labels: ["outcome"],
      known: [["new"], ["known"], ["refused"]])
    silent = metrics.gauge(
      "countersign_silent_apps", "Apps that Apple has not posted about for longer than is their habit.",
      labels: ["environment"])
    for environment in Self.environments { silent.set(0, environment.rawValue) }
    metrics.gauge(
      "countersign_history_gap_seconds", "Age of the oldest last complete reading of an app's Notification History."
    ) { [weak self] in
      self?.oldest.map { Double(max(0, now().subtracting($0))) / 1000 } ?? 0
    }
  }

  /// Takes what the ledger knows. An app that nobody has read to the end lacks everything that Apple still has.
  func note(_ sources: [(source: NotificationSource, place: AppPlace)], now: Int64) {
    // Production does not answer about an app that was never released.
    oldest = sources.filter { !$0.place.isUnknownToApple }.map { source, _ in
      source.readThrough ?? now - HistoryPlan.reach(in: source.environment)
    }.min()
    for environment in Self.environments {
      let count = sources.count { $0.place.environment == environment && $0.source.isSilent(at: now) }
      silent.set(Double(count), environment.rawValue)
    }
  }
}
