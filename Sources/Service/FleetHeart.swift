import Configuration
public import Coordination
import Crypto
import Domain
public import EventLoop
import Formats
import Glibc
import Observability

/// Tells the fleet every few seconds that this process lives, and how it is: for the console's page *Fleet*.
///
/// A beat that does not get through is not repeated, and nothing else waits for one.
@LoopActor
public final class FleetHeart: RoleService {
  private let context: RoleContext
  private let fleet: Fleet
  private let checks: [ReadinessCheck]
  private let refusedApps: RefusedApps?
  private let id: String
  private let startedAt: Int64
  private var phase = ServicePhase.new
  private var usage: (cpu: Double, at: ContinuousClock.Instant)
  private var dropped = Log.droppedLines
  private lazy var chore = Chore(every: FleetBeats.interval, after: .zero, .last, isReady: fleet.isReady) {
    [weak self] in await self?.beat()
  }

  /// Tells the apps whose key Apple refuses, as this process knows.
  public typealias RefusedApps = @LoopActor () -> [FleetBeat.RefusedApp]

  /// Whom the process tells.
  @LoopActor
  struct Fleet {
    /// Whether Redis can take a beat now.
    let isReady: @LoopActor () -> Bool
    let tell: @LoopActor (FleetBeat) async throws -> Void
    /// Says that the process with an id stops.
    let leave: @LoopActor (String) async throws -> Void
  }

  /// The share of one core that the process has used since the beat before, from 0 on.
  public nonisolated static let cpu = "cpu"
  /// The longest turn of the loop since the beat before, in seconds.
  public nonisolated static let longestTurn = "longestTurn"
  /// The lines of the log that were dropped since the beat before.
  public nonisolated static let droppedLines = "droppedLines"

  /// The metrics that a beat has, if the role has them.
  nonisolated static let metrics: Set<String> = [
    "countersign_connection_up", "countersign_configuration_current", "countersign_publishers_broken",
    "countersign_redis_writes_refused", "countersign_redis_evicts", "countersign_process_resident_memory_bytes",
    "countersign_http_connections", "countersign_jwks_overdue_seconds", "countersign_job_slots",
    "countersign_jobs_in_flight",
    "countersign_queue_messages", "countersign_apple_refused_apps", "countersign_dead_messages",
    "countersign_notifications_put_aside", "countersign_subscriber_oldest_owed_seconds",
    "countersign_timer_backlog_seconds",
    "countersign_history_gap_seconds", "countersign_silent_apps", "countersign_refund_deadline_seconds",
    "countersign_deliveries_in_flight", "countersign_deliveries_waiting",
  ]

  /// - Parameters:
  ///   - checks: the lines of `/readyz`.
  ///   - refusedApps: `nil` for a role that does not learn that Apple refuses a key.
  public convenience init(
    _ context: RoleContext, _ redis: RoleRedis, checks: [ReadinessCheck], refusedApps: RefusedApps? = nil
  ) {
    let beats = FleetBeats(redis.client, prefix: context.settings.redis.prefix)
    self.init(
      context,
      Fleet(
        isReady: { redis.isReady }, tell: { try await beats.tell($0) }, leave: { try await beats.leave($0) }),
      checks: checks, refusedApps: refusedApps)
  }

  init(_ context: RoleContext, _ fleet: Fleet, checks: [ReadinessCheck], refusedApps: RefusedApps? = nil) {
    (self.context, self.fleet, self.checks, self.refusedApps) = (context, fleet, checks, refusedApps)
    // Without a random number the time alone tells two processes apart well enough.
    id = (try? Hex.encode(secureRandomBytes(8))) ?? "\(monotonicNanoseconds())"
    startedAt = context.now()
    usage = (processorSeconds(), .now)
  }

  public func start() { if phase.start() { chore.start() } }

  /// Does nothing: what runs may take a while yet, and the process lives until the stop.
  public func close() {}

  public func stop(within grace: Duration) async {
    guard phase.stop() else { return }
    // A beat that came behind the farewell would let the process look silent.
    await chore.stop(within: min(grace, .seconds(1)))
    // While Redis is away, the process just falls silent.
    if fleet.isReady() { try? await fleet.leave(id) }
  }

  private func beat() async {
    let (cpu, now) = (processorSeconds(), ContinuousClock.now)
    let share = max(0, cpu - usage.cpu) / max(0.001, (now - usage.at).inSeconds)
    usage = (cpu, now)
    let lines = Log.droppedLines
    defer { dropped = lines }
    let own = [
      FleetBeat.Reading(Self.cpu, [], share),
      FleetBeat.Reading(Self.longestTurn, [], context.loopWatch.takeLongest().inSeconds),
      FleetBeat.Reading(Self.droppedLines, [], Double(lines) - Double(dropped)),
    ]
    let told = FleetBeat(
      id: id, role: context.role, version: context.version, place: "\(Self.host):\(getpid())", startedAt: startedAt,
      troubles: checks.map { $0.result().line }.filter { !$0.hasPrefix("ok: ") },
      readings: own + Self.inOrder(context.metrics.readings(of: Self.metrics)), refusedApps: refusedApps?(),
      settings: context.settings.stated.map { FleetBeat.Setting($0.key, $0.value, fallback: $0.fallback) })
    do {
      try await fleet.tell(told)
    } catch {
      context.log.debug("the state of this process could not be reported to the fleet", ["cause": .failure(error)])
    }
  }

  /// What there is once for each subscriber comes last: a beat has no more than so many readings.
  private static func inOrder(_ readings: [MetricReading]) -> [FleetBeat.Reading] {
    func isOfSubscriber(_ reading: MetricReading) -> Bool {
      reading.name.contains("subscriber") || reading.labels.contains { $0.hasPrefix("subscriber ") }
    }
    let ordered = readings.filter { !isOfSubscriber($0) } + readings.filter(isOfSubscriber)
    return ordered.map { FleetBeat.Reading($0.name, $0.labels, $0.value) }
  }

  private static let host: String = {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "?" }
    return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }()
}
