import EventLoop
import HTTP
import Harness
import Redis
import TestSupport
import Testing

/// Servers as managed services set them up.
@Suite(
  .breakingServers,
  .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct ManagedServiceTests {
  @Test func `a Redis that evicts is told by each role`() async throws {
    let redis = try await RedisConnection.open(TestServers.current!.redis)
    let roles = ["gateway-1", "worker-1", "notifier-1"]
    func expect(_ policy: String, _ evicts: Double) async throws {
      _ = try await redis.send(["CONFIG", "SET", "maxmemory-policy", policy])
      try await RunningFleet.with(roles) { fleet async throws in
        for role in roles {
          try await eventually("\(role) has looked") {
            try await fleet.metric(role, "countersign_redis_evicts") == evicts
              && fleet.log(role).contains(#""maxmemoryPolicy":"\#(policy)""#) == (evicts == 1)
          }
          let warnings = fleet.log(role).split(separator: "\n").filter { $0.contains("Redis may delete keys") }
          #expect(warnings.count == Int(evicts))
        }
      }
    }
    do {
      try await expect("volatile-lru", 1)
    } catch {
      _ = try await redis.send(["CONFIG", "SET", "maxmemory-policy", "noeviction"])
      redis.close()
      throw error
    }
    try await expect("noeviction", 0)
    redis.close()
  }
}
