import Configuration
import Crypto
import Domain
import EventLoop
import Formats
import Ledger
import Observability
import Service

/// Tells the ends of access by hand on time: takes what is due from the ledger, and commits the changed entitlements.
///
/// As with the timers of purchases, no message carries them (decision 0026). Nobody asks Apple, so an outage of Apple's
/// keeps nothing open. Grants and overrides of the sandbox have one each: what ends is a row with a date in both.
@LoopActor
final class AccessEnds<Ending: EndingAccess>: RoleService {
  /// What tells one kind of access from another.
  struct Kind: Sendable {
    let row: SuspectRows.Kind
    /// What the log calls one of them.
    let word: String
    /// Names one in the log, without a customer; `nil` if only the customer names it.
    let id: @Sendable (Ending) -> String?
    /// Names one among the rows of its publisher.
    let key: @Sendable (Ending) -> String
    let lag: (name: String, help: String)
  }

  /// What the looks work with.
  @LoopActor
  struct Dependencies {
    let context: RoleContext
    let kind: Kind
    /// Takes due rows out of the ledger, this many at most.
    let takeDue: @LoopActor ([PublisherShare], Int) async throws -> [Ending]
    /// Commits an end; returns the events to publish, or `nil` if it was over or withdrawn already.
    let end: @LoopActor (Ending, Publisher) async throws -> Told?
    let publish: @LoopActor (consuming Told) -> Void
    let rows: SuspectRows
    /// Whether the ledger can be asked.
    let isReady: @LoopActor () -> Bool
  }

  private let dependencies: Dependencies
  private let lag: Histogram
  private let runs = RunningTasks()
  private var taking = PublisherTaking(places: AccessEndLimits.mostAtOnce, part: 4)
  private lazy var looks = Chore(
    every: AccessEndLimits.interval,
    isReady: { [weak self] in self.map { $0.free > 0 && $0.dependencies.isReady() } ?? false },
    look: { [weak self] in await self?.take() })

  init(_ dependencies: Dependencies) {
    self.dependencies = dependencies
    let lag = dependencies.kind.lag
    self.lag = dependencies.context.metrics.histogram(lag.name, lag.help, buckets: Histogram.ageBuckets)
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

  private var free: Int { AccessEndLimits.mostAtOnce - runs.count }

  /// Takes what is due now. If there was something, more may be due.
  func take() async {
    let context = dependencies.context
    guard let turn = taking.turn(of: context.publishers.all, free: free) else { return }
    do {
      let due = try await dependencies.takeDue(turn.shares, turn.most)
      for ending in due where !runs.isClosed { begin(ending) }
      if !due.isEmpty || !turn.isLast { looks.look(after: AccessEndLimits.shortInterval) }
    } catch {
      context.log.ledgerFailure("due \(dependencies.kind.word)s could not be taken", error)
    }
  }

  private func begin(_ due: Ending) {
    let (id, kind) = (due.customer.publisherId, dependencies.kind)
    taking.begin(id)
    runs.start { [self] in
      await dependencies.rows.run(kind.row, "\(id):\(kind.key(due))") { await end(due) }
      taking.end(id)
    }
  }

  private func end(_ due: Ending) async {
    let (context, kind) = (dependencies.context, dependencies.kind)
    // Without the publisher's file nobody may decide. The row stays, and gives nothing.
    guard let publisher = context.publishers[due.customer.publisherId] else { return }
    do {
      guard let told = try await dependencies.end(due, publisher) else { return }
      dependencies.publish(told)
      lag.observe(Double(max(0, context.now().subtracting(due.endsAt))) / 1000)
      if let id = kind.id(due) {
        context.log.info("\(kind.word) ended", ["publisherId": .int(publisher.id.number), "grantId": .string(id)])
      } else {
        context.log.info("\(kind.word) ended", ["publisherId": .int(publisher.id.number)])
      }
    } catch {
      // The lease ends, and somebody tries again.
      context.log.ledgerFailure("the end of a \(kind.word) could not be committed", error)
    }
  }
}

/// How often a worker looks for ends, and how many it commits at once.
private enum AccessEndLimits {
  static let interval = Duration.seconds(1)
  /// How often it looks while there are any, and the time between the looks of one round.
  static let shortInterval = Duration.milliseconds(100)
  /// The most ends of a kind that one worker commits at once. One of several publishers gets a quarter of them at most.
  static let mostAtOnce = 32
}

extension AccessEnds.Kind where Ending == Grant {
  static var grants: Self {
    Self(
      row: .grant, word: "grant", id: { $0.id.text }, key: { $0.id.text },
      lag: ("countersign_grant_lag_seconds", "Time from the end of a grant to the commit of its event."))
  }
}

extension AccessEnds.Kind where Ending == SandboxOverride {
  static var sandboxAccess: Self {
    Self(
      row: .sandboxAccess, word: "sandbox access", id: { _ in nil },
      // The log and Redis get a digest, and no customer.
      key: { CustomerDigest.short(of: $0.customer.id.text, of: $0.customer.publisherId.number) },
      lag: (
        "countersign_sandbox_access_lag_seconds",
        "Time from the end of a customer's sandbox access to the commit of its event."
      ))
  }
}

extension AccessEnds.Dependencies where Ending == Grant {
  /// Those of a worker, for grants.
  init(_ parts: WorkerParts) {
    let (context, ledger) = (parts.context, parts.ledger)
    let (timers, grants) = (AccessTimers<Grant>(ledger.postgres), Grants(ledger.postgres))
    self.init(
      context: context, kind: .grants,
      takeDue: {
        try await timers.takeDue($0, limit: $1) { context.log.ledgerFailure("a due grant was left alone", $0) }
      },
      end: { try await grants.end($0, publisher: $1, now: context.now()) },
      publish: { [outlet = parts.outlet] in outlet.publish($0) }, rows: parts.rows,
      isReady: { ledger.isReady })
  }
}

extension AccessEnds.Dependencies where Ending == SandboxOverride {
  /// Those of a worker, for overrides of the sandbox.
  init(_ parts: WorkerParts) {
    let (context, ledger) = (parts.context, parts.ledger)
    let (timers, overrides) = (AccessTimers<SandboxOverride>(ledger.postgres), SandboxOverrides(ledger.postgres))
    self.init(
      context: context, kind: .sandboxAccess,
      takeDue: {
        try await timers.takeDue($0, limit: $1) { context.log.ledgerFailure("a due sandbox access was left alone", $0) }
      },
      end: { try await overrides.end($0, publisher: $1, now: context.now()) },
      publish: { [outlet = parts.outlet] in outlet.publish($0) }, rows: parts.rows,
      isReady: { ledger.isReady })
  }
}
