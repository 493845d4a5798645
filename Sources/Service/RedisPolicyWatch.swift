import EventLoop
import Observability
import Redis

/// Asks Redis which keys it would delete for want of memory: after each connection, and from time to time.
///
/// Countersign's keys are claims, leases and running work. A Redis that evicts deletes some of them without a word, and
/// managed ones often do by default. `INFO` needs no right to read the configuration.
@LoopActor
final class RedisPolicyWatch: RoleService {
  /// Asks Redis for `INFO memory`.
  typealias Ask = @LoopActor () async throws -> String?

  private let ask: Ask
  private let evicts: Gauge
  private let log: Log
  private lazy var looks = Chore(every: Self.interval, after: Self.interval, .dropped) { [weak self] in
    await self?.look()
  }
  private var lastPolicy: String?
  private var lacksRight = false

  /// - Parameter connections: tells each new connection: another Redis may have answered.
  init(_ context: RoleContext, after connections: Followers<Void>, ask: @escaping Ask) {
    self.ask = ask
    evicts = context.redisEvicts
    log = context.log
    connections.add { [weak self] in self?.looks.lookNow() }
  }

  /// How often it looks.
  private static let interval = Duration.seconds(60)

  func start() { looks.start() }
  func close() { looks.close() }
  func stop(within grace: Duration) async { await looks.stop(within: grace) }

  private func look() async {
    do {
      if let answer = try await ask() { tell(RedisMemoryPolicy(info: answer)) }
    } catch let error as RedisError where error.cause.hasPrefix("NOPERM") {
      guard !lacksRight else { return }
      lacksRight = true
      log.warning(
        "it is unknown whether Redis deletes keys: its user may not ask. Allow +info",
        ["cause": .failure(error)])
    } catch {
      // If Redis does not answer, the connection says so.
    }
  }

  private func tell(_ policy: RedisMemoryPolicy?) {
    evicts.set(policy?.evicts == true ? 1 : 0)
    guard let policy, policy.name != lastPolicy else { return }
    let wasEvicting = lastPolicy.map { RedisMemoryPolicy(name: $0).evicts } ?? false
    lastPolicy = policy.name
    if policy.evicts {
      log.warning(
        "Redis may delete keys when its memory is full: set maxmemory-policy to noeviction",
        ["maxmemoryPolicy": .string(policy.name)])
    } else if wasEvicting {
      log.info("Redis no longer deletes keys", ["maxmemoryPolicy": .string(policy.name)])
    }
  }
}

/// What Redis does when its memory is full.
public struct RedisMemoryPolicy: Sendable, Equatable {
  /// The value of `maxmemory-policy`.
  public let name: String

  /// Creates a policy.
  public init(name: String) { self.name = name }

  /// Reads the answer to `INFO memory`; `nil` if it does not name the policy.
  public init?(info: String) {
    let key = "maxmemory_policy:"
    guard let line = info.split(whereSeparator: \.isNewline).first(where: { $0.hasPrefix(key) }),
      line.count > key.count
    else { return nil }
    name = String(line.dropFirst(key.count))
  }

  /// Whether Redis deletes keys then. With `noeviction` it refuses writes instead, and the roles put their work off.
  public var evicts: Bool { name != "noeviction" }
}
