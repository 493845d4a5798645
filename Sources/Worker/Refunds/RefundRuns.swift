import Configuration
import Domain
import EventLoop
import Ledger
import Observability
import Service

/// Answers Apple's questions about refunds: takes requests that are due from the ledger, and tells Apple.
///
/// No message carries them. A commit that begins a request gives a hint, and a look each second finds what a killed
/// worker has left.
@LoopActor
final class RefundRuns: RoleService {
  /// What the looks work with.
  @LoopActor
  struct Dependencies {
    let context: RoleContext
    /// Takes due requests out of the ledger, this many at most. For the lease nobody else takes them.
    let takeDue: @LoopActor ([PublisherShare], Int, Duration) async throws -> [DueRefundRequest]
    /// The requests without an answer, of these publishers and this many at most.
    let backlog: @LoopActor ([PublisherId], Int) async throws -> (count: Int, deadline: Int64?)
    let purchase: @LoopActor (PurchaseKey) async throws -> Purchase?
    /// Writes a request down; false if somebody has changed it since it had this revision.
    let record: @LoopActor (RefundRequest, Int64) async throws -> Bool
    /// Writes a request down and its event; `nil` if somebody has changed it since it had this revision.
    let tell: @LoopActor (RefundRequest, Int64, (RefundRequest) -> Event) async throws -> Told?
    let publish: @LoopActor (consuming Told) -> Void
    let verification: PurchaseVerification.Dependencies
    let places: @LoopActor (Publisher) -> [AppPlace]
    let rows: SuspectRows
    /// Whether the ledger can be asked.
    let isReady: @LoopActor () -> Bool
  }

  private let dependencies: Dependencies
  private let metrics: RefundMetrics
  private let runs = RunningTasks()
  private var taking = PublisherTaking(places: RefundRuns.mostAtOnce, part: 4)
  private lazy var looks = Chore(
    every: Self.interval, isReady: { [weak self] in self.map { $0.free > 0 && $0.dependencies.isReady() } ?? false },
    look: { [weak self] in await self?.take() })
  private lazy var counts = Chore(
    every: Self.countInterval, after: Self.interval, isReady: dependencies.isReady
  ) { [weak self] in await self?.count() }

  /// How often a worker looks for due requests.
  private static let interval = Duration.seconds(1)
  /// How often it looks while there are any, and the time between the looks of one round.
  private static let shortInterval = Duration.milliseconds(100)
  /// How often a worker counts the requests without an answer.
  private static let countInterval = Duration.seconds(15)
  /// The most requests of one worker at once. One of several publishers gets a quarter of them at most.
  private static let mostAtOnce = 32
  /// A look is over before its lease ends, so that nobody else makes the same call meanwhile. If Apple's answer may be
  /// about the key, it asks once more.
  static func lease(_ timeoutOfCall: Duration) -> Duration { timeoutOfCall * 2 + .seconds(15) }
  /// Nobody needs to know a greater number of open requests.
  private static let mostCounted = 10_000

  init(_ dependencies: Dependencies) {
    self.dependencies = dependencies
    metrics = RefundMetrics(dependencies.context.metrics, now: dependencies.context.now)
  }

  func start() {
    looks.start()
    counts.start()
  }

  func close() {
    looks.close()
    counts.close()
    runs.close()
  }

  /// Finishes the running calls. Another worker takes what is left when its lease ends.
  func stop(within grace: Duration) async {
    close()
    await runs.finish(within: grace, after: looks, counts)
  }

  /// Looks at once: a commit has just begun a request, or an answer may be sent.
  func hint() { looks.lookNow() }

  private var free: Int { Self.mostAtOnce - runs.count }

  func take() async {
    let context = dependencies.context
    guard let turn = taking.turn(of: context.publishers.all, free: free) else { return }
    do {
      let due = try await dependencies.takeDue(turn.shares, turn.most, Self.lease(context.settings.appStore.timeout))
      if !due.isEmpty || !turn.isLast { looks.look(after: Self.shortInterval) }
      // A worker that stops leaves them to another one.
      for request in due where !runs.isClosed { begin(request) }
    } catch {
      context.log.ledgerFailure("due refund requests could not be taken", error)
    }
  }

  private func begin(_ due: DueRefundRequest) {
    let id = due.request.purchase.publisherId
    taking.begin(id)
    runs.start { [self] in
      await dependencies.rows.run(.refund, "\(id):\(due.request.id)") {
        // Without the publisher's file nobody may decide. The request stays.
        guard let publisher = dependencies.context.publishers[id] else { return }
        if await RefundLook(due, of: publisher, dependencies, metrics).run() == .again { hint() }
      }
      taking.end(id)
    }
  }

  func count() async {
    let context = dependencies.context
    do {
      metrics.note(try await dependencies.backlog(context.publishers.all.map(\.id), Self.mostCounted))
    } catch {
      context.log.ledgerFailure("refund requests could not be counted", error)
    }
  }
}

extension RefundRuns.Dependencies {
  /// Those of a worker.
  init(_ parts: WorkerParts) {
    let (context, ledger) = (parts.context, parts.ledger)
    let (requests, purchases) = (RefundRequests(ledger.postgres), PurchaseReader(ledger.postgres))
    self.init(
      context: context,
      takeDue: {
        try await requests.takeDue($0, limit: $1, lease: $2) {
          context.log.ledgerFailure("a due refund request was left alone", $0)
        }
      },
      backlog: { try await requests.backlog(of: $0, atMost: $1) },
      purchase: { try await purchases.purchases([$0])[$0] },
      record: { try await requests.record($0, at: $1) },
      tell: { request, revision, event in
        try await requests.record(
          request, at: revision, audience: context.publishers.audience, telling: event)
      }, publish: { [outlet = parts.outlet] in outlet.publish($0) }, verification: parts.verification,
      places: { [places = parts.places] in places.of($0) }, rows: parts.rows, isReady: { ledger.isReady })
  }
}
