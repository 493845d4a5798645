import AppStore
import Configuration
import Domain
import EventLoop
import Formats
import Ledger
import Observability
import Service

/// Reads the Notification History of each app again and again, so that no notification is lost for good.
///
/// One worker at a time reads an app of a publisher in an environment: the ledger has the lease. Several publishers may
/// have one app with one key. Each of them keeps notifications of its own, so each is read for.
@LoopActor
final class HistoryRuns {
  private let context: RoleContext
  private let sources: NotificationSources
  private let store: NotificationStore
  private let notifications: NotificationRuns
  private let verification: PurchaseVerification.Dependencies
  private let places: @LoopActor (Publisher) -> [AppPlace]
  private let rows: SuspectRows
  private let metrics: HistoryMetrics
  private let runs = RunningTasks()
  private var timer: LoopTimer?
  private var isLooking = false
  private var renewal: LoopTimer?
  private var reading: [Int: NotificationSource] = [:]
  private var begun = 0

  /// The most apps that one worker reads at once.
  private static let mostAtOnce = 16
  /// The longest time between two looks for apps that must be read.
  private static let longestPause = Duration.seconds(15)

  init(
    _ context: RoleContext, _ sources: NotificationSources, _ store: NotificationStore,
    _ notifications: NotificationRuns, _ verification: PurchaseVerification.Dependencies,
    _ rows: SuspectRows, places: @escaping @LoopActor (Publisher) -> [AppPlace]
  ) {
    self.context = context
    self.sources = sources
    self.store = store
    self.notifications = notifications
    self.verification = verification
    self.places = places
    self.rows = rows
    metrics = HistoryMetrics(context.metrics, now: context.now)
  }

  /// Whether the ledger and Redis can be asked. The worker sets it.
  var isReady: @LoopActor () -> Bool = { false }

  func start() {
    let pause = min(context.settings.worker.historyInterval / 4, Self.longestPause)
    let timer = LoopTimer { [weak self] in self?.look() }
    timer.start(after: pause * Double.random(in: 0.1...1), every: pause)
    self.timer = timer
    let renewal = LoopTimer { [weak self] in self?.prolongAll() }
    renewal.start(after: NotificationSources.lease / 3, every: NotificationSources.lease / 3)
    self.renewal = renewal
  }

  /// Begins no more readings.
  func close() {
    timer?.close()
    timer = nil
    runs.close()
  }

  /// Gives the running readings back after their page.
  func finish(within grace: Duration) async {
    await runs.finish(within: grace)
    renewal?.close()
    renewal = nil
  }

  /// Keeps the leases of the running readings, however long a page waits. If a statement fails, the next one follows
  /// in time.
  private func prolongAll() {
    for source in reading.values {
      Task.immediate { @LoopActor in try? await sources.prolong(source) }
    }
  }

  private func look() {
    guard !isLooking, !runs.isClosed, isReady() else { return }
    isLooking = true
    Task.immediate { @LoopActor in
      defer { isLooking = false }
      do {
        try await beginDue()
      } catch {
        context.log.ledgerFailure("the state of Notification History could not be read", error)
      }
    }
  }

  private func beginDue() async throws {
    let apps = context.publishers.all.flatMap { publisher in
      places(publisher).map { (publisherId: publisher.id, place: $0) }
    }
    guard !apps.isEmpty else { return metrics.note([], now: context.now()) }
    let states = try await sources.states(
      of: apps.map { ($0.publisherId, $0.place.app.bundleId, $0.place.environment.rawValue) })
    let (plan, now) = (HistoryPlan(interval: interval), context.now())
    metrics.note(zip(states, apps).map { ($0.source, $1.place) }, now: now)
    let due = zip(states, apps).filter { $0.0.isFree && plan.isDue($0.0.source, now: now) }
      .sorted { ($0.0.source.readThrough ?? 0) < ($1.0.source.readThrough ?? 0) }
    for (state, app) in due {
      guard runs.count < Self.mostAtOnce, !runs.isClosed else { return }
      guard try await sources.take(state.source) else { continue }
      begin(state.source, app.place, plan.range(of: state.source, now: context.now()))
    }
  }

  private var interval: Int64 { Int64(context.settings.worker.historyInterval / .milliseconds(1)) }

  private func begin(_ source: NotificationSource, _ place: AppPlace, _ range: HistoryPlan.Range) {
    let log = context.log.with([
      "publisherId": .int(source.publisherId), "bundleId": .string(source.bundleId),
      "environment": .string(source.environment),
    ])
    let reading = HistoryReading(
      source: source, place: place, range: range, sources: sources, store: store, verification: verification,
      metrics: metrics,
      forwards: context.publishers[source.publisherId]?.notifications.forwards(in: source.environment) ?? [],
      log: log, apply: { [notifications] in await notifications.take($0) },
      isStopping: { [runs] in runs.isClosed })
    begun += 1
    let number = begun
    self.reading[number] = source
    runs.start { [self] in
      let name = "\(source.publisherId):\(source.bundleId):\(source.environment)"
      let hasRun = await rows.runLong(.history, name) {
        let end = await reading.run()
        self.reading[number] = nil
        self.metrics.readings.count(end.label)
        await self.finish(source, end, log)
      }
      guard !hasRun else { return }
      self.reading[number] = nil
      await giveBack(source, context.settings.worker.historyInterval, log)
    }
  }

  private func finish(_ source: NotificationSource, _ end: HistoryReading.End, _ log: Log) async {
    if case .failed(let cause) = end {
      log.warning("Notification History could not be read to the end", ["cause": .string(cause.rawValue)])
    }
    guard end != .complete else { return }
    // A worker that stops leaves the reading to the next one. After a failure the next interval tries again.
    await giveBack(source, end == .stopped ? .zero : context.settings.worker.historyInterval, log)
  }

  private func giveBack(_ source: NotificationSource, _ pause: Duration, _ log: Log) async {
    do {
      try await sources.giveBack(source, pause: pause)
    } catch {
      log.ledgerFailure("a reading could not be given back", error)
    }
  }
}
