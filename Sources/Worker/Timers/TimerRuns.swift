import Configuration
import Domain
import EventLoop
import Formats
import Ledger
import Observability
import Service

/// Looks at purchases whose timers are due.
///
/// A due timer becomes a job of the worker that takes it. No message carries it: the ledger has it, knows whether a
/// notification has made it needless, and gives out the latest ends first (decision 0026).
@LoopActor
final class TimerRuns: RoleService {
  /// What the looks work with.
  @LoopActor
  struct Dependencies {
    let context: RoleContext
    /// Takes due timers out of the ledger.
    let takeDue: @LoopActor (TimerTaking.Turn) async throws -> [DuePurchase]
    /// Since when the oldest due timer of some apps waits, in milliseconds since 1970; `nil` if none is due.
    let oldestDue: @LoopActor ([AppKey]) async throws -> Int64?
    /// Commits what a look has found; returns the events to publish.
    let apply: @LoopActor (PurchaseUpdate) async throws -> Told
    let publish: @LoopActor (consuming Told) -> Void
    let verification: PurchaseVerification.Dependencies
    let places: @LoopActor (Publisher) -> [AppPlace]
    let rows: SuspectRows
    /// Whether the ledger can be asked. Without Redis no look can ask Apple. But what ends by our own clock ends all
    /// the same, and is told.
    let isReady: @LoopActor () -> Bool
  }

  private let dependencies: Dependencies
  private let metrics: TimerMetrics
  private let runs = RunningTasks()
  private var taking: TimerTaking
  private lazy var looks = Chore(every: Self.interval, isReady: dependencies.isReady) { [weak self] in
    await self?.take()
  }
  /// It looks also where no timer may be taken: somebody must see that nobody takes them.
  private lazy var backlogLooks = Chore(
    every: Self.backlogInterval, after: Self.interval, isReady: dependencies.isReady
  ) { [weak self] in await self?.lookAtBacklog() }

  /// How often a worker looks for due timers.
  private static let interval = Duration.seconds(1)
  /// How often it looks while there are any.
  private static let shortInterval = Duration.milliseconds(100)
  /// How often it looks how late the timers are.
  private static let backlogInterval = Duration.seconds(30)

  init(_ dependencies: Dependencies) {
    self.dependencies = dependencies
    let context = dependencies.context
    taking = TimerTaking(places: context.settings.worker.timerConcurrency)
    metrics = TimerMetrics(context.metrics, now: context.now) { [runs] in Double(runs.count) }
  }

  func start() {
    looks.start()
    backlogLooks.start()
  }

  func close() {
    looks.close()
    backlogLooks.close()
  }

  /// Finishes the running looks. Another worker takes what is left when its lease ends.
  func stop(within grace: Duration) async {
    await runs.finish(within: grace, after: looks, backlogLooks)
  }

  /// Takes what is due now. If there was something, more may be due.
  func take() async {
    guard let turn = taking.turn(of: dependencies.context.publishers.all, running: runs.count) else { return }
    do {
      let due = try await dependencies.takeDue(turn)
      for purchase in due { begin(purchase) }
      if !due.isEmpty || !turn.isLast { looks.look(after: Self.shortInterval) }
    } catch {
      dependencies.context.log.ledgerFailure("due timers could not be taken", error)
    }
  }

  private func begin(_ due: DuePurchase) {
    taking.begin(due)
    runs.start { [self] in
      let name = "\(due.key.publisherId):\(due.key.environment):\(due.key.originalTransactionId)"
      await dependencies.rows.run(.timer, name) {
        // Without the publisher's file nobody may decide. Its timers stay.
        guard let publisher = dependencies.context.publishers[due.key.publisherId] else { return }
        await TimerLook(due, of: publisher, dependencies, metrics).run()
      }
      taking.end(due)
    }
  }

  func lookAtBacklog() async {
    do {
      let apps = TimerTaking.apps(of: dependencies.context.publishers.all)
      metrics.note(oldest: try await dependencies.oldestDue(apps))
    } catch {
      dependencies.context.log.ledgerFailure("the oldest due timer could not be read", error)
    }
  }
}

extension TimerRuns.Dependencies {
  /// Those of a worker.
  init(_ parts: WorkerParts) {
    let (timers, log) = (Timers(parts.ledger.postgres), parts.context.log)
    self.init(
      context: parts.context,
      takeDue: {
        try await timers.takeDue($0.apps, of: $0.publishers, limit: $0.most) {
          log.ledgerFailure("a due timer was left alone", $0)
        }
      },
      oldestDue: { try await timers.oldestDue(of: $0) },
      apply: { [commits = parts.commits] in try await commits.apply($0) },
      publish: { [outlet = parts.outlet] in outlet.publish($0) }, verification: parts.verification,
      places: { [places = parts.places] in places.of($0) }, rows: parts.rows,
      isReady: { [ledger = parts.ledger] in ledger.isReady })
  }
}
