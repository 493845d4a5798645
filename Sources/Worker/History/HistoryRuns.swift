import AppStore
import Configuration
import Coordination
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
final class HistoryRuns: RoleService {
  /// What the readings work with.
  @LoopActor
  struct Dependencies {
    let context: RoleContext
    /// Reads what the ledger knows of apps, in their order.
    let states: @LoopActor ([NotificationSource.Key]) async throws -> [NotificationSources.State]
    /// Takes the lease of a source; false if another worker has it.
    let take: @LoopActor (NotificationSource) async throws -> Bool
    /// Prolongs the lease of a source.
    let prolong: @LoopActor (NotificationSource) async throws -> Void
    /// Gives the lease of a source back. Nobody reads it during the pause.
    let giveBack: @LoopActor (NotificationSource, Duration) async throws -> Void
    /// Reads a source page by page.
    let read: @LoopActor (Reading) async -> HistoryReading.End
    let places: @LoopActor (Publisher) -> [AppPlace]
    /// Whether the ledger and Redis can be asked.
    let isReady: @LoopActor () -> Bool
  }

  /// A reading that begins.
  struct Reading {
    let source: NotificationSource
    let place: AppPlace
    let range: HistoryPlan.Range
    let metrics: HistoryMetrics
    let log: Log
    /// Whether the worker stops.
    let isStopping: @LoopActor () -> Bool
  }

  private let dependencies: Dependencies
  private let metrics: HistoryMetrics
  private let runs = RunningTasks()
  private var reading: [Int: NotificationSource] = [:]
  private var begun = 0
  private lazy var looks = Chore(
    every: pause, after: pause * Double.random(in: 0.1...1), isReady: dependencies.isReady
  ) { [weak self] in await self?.look() }
  /// The leases last as long as their readings.
  private lazy var renewals = Chore(
    every: NotificationSources.lease / 3, after: NotificationSources.lease / 3, .last
  ) { [weak self] in self?.prolongAll() }
  private let prolonging = RunningTasks()

  /// The most apps that one worker reads at once.
  private static let mostAtOnce = 16
  /// The most apps that one look thinks of: other workers may take most of them.
  private static let mostConsidered = 256
  /// The longest time between two looks for apps that must be read.
  private static let longestPause = Duration.seconds(15)

  init(_ dependencies: Dependencies) {
    self.dependencies = dependencies
    metrics = HistoryMetrics(dependencies.context.metrics, now: dependencies.context.now)
  }

  private var context: RoleContext { dependencies.context }
  private var interval: Duration { context.settings.worker.historyInterval }
  private var pause: Duration { min(interval / 4, Self.longestPause) }

  func start() {
    looks.start()
    renewals.start()
  }

  /// Begins no more readings.
  func close() {
    looks.close()
    runs.close()
  }

  /// Gives the running readings back after their page.
  func stop(within grace: Duration) async {
    close()
    let deadline = Deadline(after: grace)
    await runs.finish(within: deadline.left, after: looks)
    await prolonging.finish(within: deadline.left, after: renewals)
  }

  /// Keeps the leases of the running readings, however long a page waits. If a statement fails, the next one follows
  /// in time.
  func prolongAll() {
    for source in reading.values {
      prolonging.startNow { [dependencies] in try? await dependencies.prolong(source) }
    }
  }

  func look() async {
    do {
      try await beginDue()
    } catch {
      context.log.ledgerFailure("the state of Notification History could not be read", error)
    }
  }

  private func beginDue() async throws {
    let plan = HistoryPlan(interval: Int64(interval / .milliseconds(1)))
    var (window, isLast) = (LookWindow(), false)
    var summary = HistorySummary()
    var due: [(source: NotificationSource, known: AppPlace)] = []
    while !isLast {
      let next = window.next(of: context.publishers.all)
      isLast = next.isLast
      let places = next.part.flatMap(dependencies.places)
      guard !places.isEmpty else { continue }
      let now = context.now()
      let all = zip(try await dependencies.states(places.map(\.source)), places).map { (state: $0, known: $1) }
      for (state, place) in all { summary.add(state.source, place, now: now) }
      due = HistoryTaking.oldest(due + HistoryTaking.due(all, plan, now: now), Self.mostConsidered)
    }
    metrics.note(summary)
    for (source, place) in due {
      guard runs.count < Self.mostAtOnce, !runs.isClosed else { return }
      guard try await dependencies.take(source) else { continue }
      begin(source, place, plan.range(of: source, now: context.now()))
    }
  }

  private func begin(_ source: NotificationSource, _ place: AppPlace, _ range: HistoryPlan.Range) {
    let log = context.log.with([
      "publisherId": .int(source.key.publisherId.number), "bundleId": .string(source.key.bundleId.text),
      "environment": .string(source.key.environment.text),
    ])
    let reading = Reading(
      source: source, place: place, range: range, metrics: metrics, log: log,
      isStopping: { [runs] in runs.isClosed })
    begun += 1
    let number = begun
    self.reading[number] = source
    runs.start { [self] in
      let end = await dependencies.read(reading)
      self.reading[number] = nil
      metrics.readings.count(end.label)
      await finish(source, end, log)
    }
  }

  private func finish(_ source: NotificationSource, _ end: HistoryReading.End, _ log: Log) async {
    if case .failed(let cause) = end {
      log.warning("Notification History could not be read to the end", ["cause": .string(cause.rawValue)])
    }
    guard let pause = HistoryTaking.pause(after: end, interval: interval) else { return }
    await giveBack(source, pause, log)
  }

  private func giveBack(_ source: NotificationSource, _ pause: Duration, _ log: Log) async {
    do {
      try await dependencies.giveBack(source, pause)
    } catch {
      log.ledgerFailure("a reading could not be given back", error)
    }
  }
}

extension HistoryRuns.Dependencies {
  /// Those of a worker.
  ///
  /// - Parameter notifications: applies what a reading has found.
  init(_ parts: WorkerParts, _ notifications: NotificationRuns) {
    let (context, ledger) = (parts.context, parts.ledger)
    let (sources, store) = (NotificationSources(ledger.postgres), NotificationStore(ledger.postgres))
    self.init(
      context: context,
      states: { try await sources.states(of: $0) },
      take: { try await sources.take($0) }, prolong: { try await sources.prolong($0) },
      giveBack: { try await sources.giveBack($0, pause: $1) },
      read: { [verification = parts.verification, rows = parts.rows] reading in
        let (source, publishers) = (reading.source.key, context.publishers)
        let name = "\(source.publisherId):\(source.bundleId):\(source.environment)"
        return await HistoryReading(
          source: reading.source, place: reading.place, range: reading.range, sources: sources, store: store,
          verification: verification, metrics: reading.metrics, isFatal: context.faults.crashHistory == name,
          forwards: publishers[source.publisherId]?.notifications.forwards(in: source.environment) ?? [],
          log: reading.log, turn: { await rows.run(.history, name, $0) }, apply: { await notifications.take($0) },
          isStopping: reading.isStopping
        ).run()
      }, places: { [places = parts.places] in places.of($0) },
      isReady: { [redis = parts.redis] in ledger.isReady && redis.isReady })
  }
}
