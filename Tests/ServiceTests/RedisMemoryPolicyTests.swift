import Service
import Testing

/// The policy in Redis' answer to `INFO memory`.
struct RedisMemoryPolicyTests {
  @Test(arguments: [
    ("noeviction", false), ("allkeys-lru", true), ("volatile-lru", true), ("volatile-ttl", true),
    ("allkeys-random", true), ("a policy of tomorrow", true),
  ])
  func `every policy but noeviction evicts`(name: String, evicts: Bool) {
    let info = "# Memory\r\nused_memory:859184\r\nmaxmemory:0\r\nmaxmemory_policy:\(name)\r\nmem_clients:0\r\n"
    #expect(RedisMemoryPolicy(info: info) == RedisMemoryPolicy(name: name))
    #expect(RedisMemoryPolicy(info: info)?.evicts == evicts)
  }

  @Test func `an answer without the policy tells nothing`() {
    for info in [
      "", "# Memory\r\nused_memory:859184\r\n", "maxmemory_policy:\r\n", "x_maxmemory_policy:noeviction\r\n",
    ] {
      #expect(RedisMemoryPolicy(info: info) == nil)
    }
  }
}
