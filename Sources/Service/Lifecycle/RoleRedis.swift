public import EventLoop
public import Redis

/// A role's client of Redis, and the watch of which keys Redis would delete.
@LoopActor
public final class RoleRedis: RoleService {
  public let client: RedisClient
  public let readiness: [ReadinessCheck]
  private let policy: RedisPolicyWatch
  private var phase = ServicePhase.new

  /// Whether Redis can answer now.
  public var isReady: Bool { client.isReady }

  /// Creates a client. Nothing happens before ``start()``.
  ///
  /// - Parameter isNeeded: whether the role is not ready without Redis.
  public init(_ context: RoleContext, isNeeded: Bool) {
    let connections = Followers<Void>()
    let client = context.makeRedis { connections.tell(()) }
    self.client = client
    policy = RedisPolicyWatch(context, after: connections) { try await client.send(["INFO", "memory"]).string }
    readiness = [.redis(client, isNeeded: isNeeded)]
  }

  /// Starts to connect.
  public func start() {
    guard phase.start() else { return }
    policy.start()
    client.start()
  }

  public func close() { policy.close() }

  public func stop(within grace: Duration) async {
    guard phase.stop() else { return }
    await policy.stop(within: grace)
    await client.stop()
  }
}
