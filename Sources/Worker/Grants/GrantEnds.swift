import Configuration
import Domain
import EventLoop
import Formats
import Ledger
import Observability
import Service

/// Tells the ends of grants on time: takes those that are due from the ledger, and commits the changed entitlements.
///
/// As with the timers of purchases, no message carries them (decision 0026). Nobody asks Apple, so an outage of Apple's
/// keeps no grant open.
@LoopActor
final class GrantEnds: RoleService {
  /// What the looks work with.
  @LoopActor
  struct Dependencies {
    let context: RoleContext
    /// Takes due grants out of the ledger, this many at most.
    let takeDue: @LoopActor ([PublisherShare], Int) async throws -> [Grant]
    /// Commits the end of a grant; returns the events to publish, or `nil` if it was over or withdrawn already.
    let end: @LoopActor (Grant, Publisher) async throws -> Told?
    let publish: @LoopActor (consuming Told) -> Void
    let rows: SuspectRows
    /// Whether the ledger can be asked.
    let isReady: @LoopActor () -> Bool
  }

  private let dependencies: Dependencies
  private let lag: Histogram
  private let runs = RunningTasks()
  private var taking = PublisherTaking(places: GrantEnds.mostAtOnce, part: 4)
  private lazy var looks = Chore(
    every: Self.interval, isReady: { [weak self] in self.map { $0.free > 0 && $0.dependencies.isReady() } ?? false },
    look: { [weak self] in await self?.take() })

  /// How often a worker looks for due grants.
  private static let interval = Duration.seconds(1)
  /// How often it looks while there are any, and the time between the looks of one round.
  private static let shortInterval = Duration.milliseconds(100)
  /// The most ends that one worker commits at once. One of several publishers gets a quarter of them at most.
  private static let mostAtOnce = 32

  init(_ dependencies: Dependencies) {
    self.dependencies = dependencies
    lag = dependencies.context.metrics.histogram(
      "countersign_grant_lag_seconds", "Time from the end of a grant to the commit of its event.",
      buckets: Histogram.ageBuckets)
  }

  func start() { looks.start() }

  func close() {
    looks.close()
    runs.close()
  }

  /// Finishes the running commits. Another worker takes what is left when its lease ends.
  func stop(within grace: Duration) async {
    close()
    await runs.finish(within: grace, after: looks)
  }

  private var free: Int { Self.mostAtOnce - runs.count }

  /// Takes what is due now. If there was something, more may be due.
  func take() async {
    let context = dependencies.context
    guard let turn = taking.turn(of: context.publishers.all, free: free) else { return }
    do {
      let due = try await dependencies.takeDue(turn.shares, turn.most)
      for grant in due where !runs.isClosed { begin(grant) }
      if !due.isEmpty || !turn.isLast { looks.look(after: Self.shortInterval) }
    } catch {
      context.log.ledgerFailure("due grants could not be taken", error)
    }
  }

  private func begin(_ due: Grant) {
    let id = due.customer.publisherId
    taking.begin(id)
    runs.start { [self] in
      await dependencies.rows.run(.grant, "\(id):\(due.id.text)") { await end(due) }
      taking.end(id)
    }
  }

  private func end(_ due: Grant) async {
    let context = dependencies.context
    // Without the publisher's file nobody may decide. The grant stays, and gives nothing.
    guard let publisher = context.publishers[due.customer.publisherId] else { return }
    do {
      guard let told = try await dependencies.end(due, publisher) else { return }
      dependencies.publish(told)
      lag.observe(Double(max(0, context.now().subtracting(due.endsAt))) / 1000)
      context.log.info(
        "grant ended", ["publisherId": .int(publisher.id), "grantId": .string(due.id.text)])
    } catch {
      // The lease ends, and somebody tries again.
      context.log.ledgerFailure("the end of a grant could not be told", error)
    }
  }
}

extension GrantEnds.Dependencies {
  /// Those of a worker.
  init(_ parts: WorkerParts) {
    let (context, ledger) = (parts.context, parts.ledger)
    let (timers, grants) = (GrantTimers(ledger.postgres), Grants(ledger.postgres))
    self.init(
      context: context,
      takeDue: {
        try await timers.takeDue($0, limit: $1) { context.log.ledgerFailure("a due grant was left alone", $0) }
      },
      end: { try await grants.end($0, publisher: $1, now: context.now()) },
      publish: { [outlet = parts.outlet] in outlet.publish($0) }, rows: parts.rows,
      isReady: { ledger.isReady })
  }
}
