import AMQP
import Configuration
import Coordination
import Domain
import EventLoop
import Messaging
import Observability
import Service

/// Runs the jobs whose turn in the line for Apple's calls has come (decision 0039).
///
/// No message brings them: a worker with a free place asks the line. The copy of each job at the broker comes back if
/// this worker dies.
@LoopActor
final class LineRuns: RoleService {
  /// What the runs work with.
  @LoopActor
  struct Dependencies {
    let jobs: JobRun.Dependencies
    /// Takes jobs out of the line.
    let next: @LoopActor (LineAllowances) async throws -> AwaitedJobs
    /// How many jobs of a lane are in the line.
    let count: @LoopActor (JobLane) async throws -> Int
    let publish: @LoopActor (AMQPMessage) async throws -> Void
    /// Publishes a message without a second try.
    let publishOnce: @LoopActor (AMQPMessage) async throws -> Void
    let topology: Topology
    let log: Log
    let metrics: LineMetrics
    /// Whether a run could go on now.
    let isReady: @LoopActor () -> Bool
    /// Tells that a job has joined the line.
    let joins: Followers<Void>
  }

  private let dependencies: Dependencies
  private let running: RunningTasks
  /// The pause after a look that found nothing, although a line was due.
  private var pause = shortest
  private lazy var looks = Chore(every: Self.interval, isReady: dependencies.isReady) { [weak self] in
    await self?.take()
  }
  private lazy var counts = Chore(every: Self.countInterval, isReady: dependencies.isReady) { [weak self] in
    await self?.count()
  }

  /// How often a worker looks while nobody is in the line.
  private static let interval = Duration.seconds(1)
  /// How often it looks at most. A budget keeps the calls of a second.
  private static let shortest = Duration.milliseconds(50)
  /// The longest pause while a line is due. Its jobs may be of publishers that this worker has no place for.
  private static let longest = Duration.milliseconds(400)
  private static let countInterval = Duration.seconds(5)

  /// - Parameter running: has the tasks of all runs of jobs.
  init(_ dependencies: Dependencies, _ running: RunningTasks) {
    (self.dependencies, self.running) = (dependencies, running)
    dependencies.joins.add { [weak self] in self?.hint() }
  }

  func start() {
    looks.start()
    counts.start()
  }

  func close() {
    looks.close()
    counts.close()
  }

  /// Takes no more jobs. Those in hand end with the other runs.
  func stop(within grace: Duration) async {
    let deadline = Deadline(after: grace)
    await looks.stop(within: deadline.left)
    await counts.stop(within: deadline.left)
  }

  /// Lets the next look come soon: a job has joined the line.
  private func hint() { looks.look(after: Self.shortest) }

  /// Takes the jobs whose turn has come, as many as there are places, of publishers that may have more.
  ///
  /// What the broker delivers may take all places. The line has some in any case (`JobShares.line`).
  func take() async {
    let allowances = dependencies.jobs.places.shares.allowances
    guard allowances.all > 0, !running.isClosed else { return looks.look(after: Self.shortest * 2) }
    let start = ContinuousClock.now
    do {
      let found = try await dependencies.next(allowances)
      for awaited in found.jobs { begin(awaited, askedAt: start) }
      if found.unreadable > 0 {
        dependencies.log.warning("left to a newer worker", ["jobs": .int(Int64(found.unreadable))])
      }
      pause = found.jobs.isEmpty && found.wait == .zero ? min(pause * 2, Self.longest) : Self.shortest
      if let wait = found.wait { looks.look(after: min(max(wait, pause), Self.interval)) }
    } catch {
      dependencies.log.warning("the line for calls could not be read", ["cause": .failure(error)])
    }
  }

  private func begin(_ awaited: AwaitedJob, askedAt start: ContinuousClock.Instant) {
    dependencies.metrics.wait.observe(awaited.waited.inSeconds)
    running.start { [dependencies, running] in
      let delivery = LineDelivery(awaited, dependencies, running)
      await JobRun(awaited, askedAt: start, delivery, with: dependencies.jobs).run()
    }
  }

  func count() async {
    for lane in JobLane.allCases {
      if let count = try? await dependencies.count(lane) { dependencies.metrics.jobs.set(Double(count), lane.rawValue) }
    }
  }
}

extension LineRuns.Dependencies {
  /// Those of a worker.
  init(_ parts: WorkerParts) {
    let settings = parts.context.settings
    let line = CallLine(parts.redis.client, prefix: settings.redis.prefix)
    self.init(
      jobs: parts.jobs,
      next: { [doors = parts.context.doors] in
        try await line.next($0, for: settings.worker.leaseDuration, doors: doors)
      }, count: { try await line.count($0) },
      publish: { [publisher = parts.publisher] in try await publisher.publishSurely($0) },
      publishOnce: { [publisher = parts.publisher] in try await publisher.publish($0, timeout: .seconds(5)) },
      topology: parts.topology,
      log: parts.context.log, metrics: LineMetrics(parts.context.metrics),
      isReady: { [redis = parts.redis, ledger = parts.ledger, publisher = parts.publisher] in
        redis.isReady && ledger.isReady && publisher.isReady
      }, joins: parts.joins)
  }
}
