import EventLoop
import Fleets
import HTTP
import Redis
import ServerSupport
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
    do {
      _ = try await redis.send(["CONFIG", "SET", "maxmemory-policy", "volatile-lru"])
      try await RunningFleet.with(roles) { fleet async throws in
        for role in roles {
          try await eventually("\(role) tells that keys may go") {
            try await fleet.metric(role, "countersign_redis_evicts") == 1
          }
          let warnings = fleet.log(role).split(separator: "\n").filter { $0.contains("Redis may delete keys") }
          #expect(warnings.count == 1 && warnings[0].contains(#""maxmemoryPolicy":"volatile-lru""#))
        }
        _ = try await redis.send(["CONFIG", "SET", "maxmemory-policy", "noeviction"])
        // A role looks at each new connection, too.
        _ = try await redis.send(["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"])
        for role in roles {
          try await eventually("\(role) tells that keys stay") {
            try await fleet.metric(role, "countersign_redis_evicts") == 0
              && fleet.log(role).contains("Redis no longer deletes keys")
          }
        }
      }
    } catch {
      _ = try await redis.send(["CONFIG", "SET", "maxmemory-policy", "noeviction"])
      redis.close()
      throw error
    }
    redis.close()
  }
}
