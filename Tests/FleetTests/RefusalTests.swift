import AMQP
import EventLoop
import Fleets
import HTTP
import Messaging
import Redis
import ServerSupport
import TestSupport
import Testing

/// The answer to a client while a server fails, and the result of its registration.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct RefusalTests {
  /// Registers with the same id until the answer settles the registration.
  private func settle(_ transaction: String, id: String, at fleet: RunningFleet) async throws {
    try await eventually("\(id) is settled") {
      let answer = try await fleet.register(transaction, id: id)
      if answer.status == 409 {
        // The 409 names this id itself: the refused registration runs.
        #expect(String(decoding: answer.body, as: UTF8.self).contains("/synchronizations/\(id)\""))
      }
      return [202, 409].contains(answer.status)
    }
  }

  @Test(.breakingServers)
  func `what a paused broker did not confirm may run, and the same Correlation-Id settles it`() async throws {
    let servers = TestServers.current!
    // The gateway's connection outlives the pause, even on a slow machine.
    let patient = ["COUNTERSIGN_RABBITMQ_HEARTBEAT_SECONDS": "120"]
    try await RunningFleet.with(["gateway-1", "worker-1"], overrides: patient) { fleet in
      try await servers.pause(.rabbitmq)
      do {
        // Both at once: after three seconds in which the broker takes nothing, a further refusal opens the connection
        // anew, and what is on its way over the old one may get lost.
        async let first = fleet.register("1000000000001", id: "a")
        async let second = fleet.register("1000000000002", id: "b")
        for (id, refused) in try await [("a", first), ("b", second)] {
          let body = String(decoding: refused.body, as: UTF8.self)
          #expect(refused.status == 503)
          #expect(refused.header("retry-after") != nil)
          #expect(body.contains("may take effect") && body.contains("Correlation-Id: \(id)."), "\(body)")
          #expect(body.contains("\"instance\":\"/storekit2/purchases/synchronizations/\(id)\""))
        }
      } catch {
        try await servers.resume(.rabbitmq)
        throw error
      }
      try await servers.resume(.rabbitmq)
      for name in ["gateway-1", "worker-1"] { try await fleet.ready(name) }
      let lost = fleet.logged("\"event\":\"connection lost\"").filter { $0.contains("\"role\":\"gateway\"") }
      #expect(lost.isEmpty, "the connection outlives the pause: \(lost)")

      // The client repeats one at once, and the other after it has run without a repetition.
      try await settle("1000000000002", id: "b", at: fleet)
      _ = try await fleet.finished(["a", "b"])
      try await settle("1000000000001", id: "a", at: fleet)
      for id in ["a", "b"] {
        let status = try await fleet.status(id)
        #expect(status?.status == "finalized")
        let own = fleet.events.all.filter { $0.synchronizationId == id }
        #expect(Set(own.map(\.id)).count == 1, "\(id) has one event")
        #expect(Set(own.map(\.version)) == [status?.version], "\(id) took effect once")
      }
    }
  }

  @Test(.breakingServers) func `a broker that is away keeps nothing, and the answer says so`() async throws {
    let servers = TestServers.current!
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      try await servers.stop(.rabbitmq)
      try await eventually("the gateway is not ready") {
        try await fleet.send("GET", fleet.url("/readyz")).status == 503
      }
      let refused = try await fleet.register("1000000000001", id: "a")
      #expect(refused.status == 503)
      #expect(String(decoding: refused.body, as: UTF8.self).contains("Nothing was kept of this request."))
      #expect(try await fleet.statusAnswer("a").code == 404)
      // There is one loss, of the only connection. The log reports failed attempts to connect once for each cause.
      try await eventually("it tries often") {
        try await fleet.metric("gateway-1", "countersign_connection_losses_total{connection=\"publish\"}") >= 6
      }
      @LoopActor func lines(_ event: String) -> [Substring] {
        fleet.logged("\"event\":\"\(event)\"").filter {
          $0.contains("\"role\":\"gateway\"") && $0.contains("\"connection\":\"publish\"")
        }
      }
      #expect(lines("connection lost").count == 1)
      let causes = lines("cannot connect").map { line in
        line.split(separator: ",").filter { $0.contains("\"cause\"") }.joined()
      }
      #expect(!causes.isEmpty && zip(causes, causes.dropFirst()).allSatisfy { $0 != $1 }, "\(causes)")
      #expect(causes.count < 5, "\(causes)")
      try await servers.start(.rabbitmq)
      try await fleet.ready("gateway-1")
      try await fleet.ready("worker-1")
    }
  }

  @Test(.breakingServers) func `a role whose Redis takes no writes is not ready and names the error`() async throws {
    let redis = try await RedisConnection.open(TestServers.current!.redis)
    let roles = ["gateway-1", "worker-1", "notifier-1"]
    let metric = "countersign_redis_writes_refused{error=\"OOM\"}"
    try await RunningFleet.with(roles) { fleet in
      @LoopActor func readiness(_ role: String) async throws -> (status: Int, text: String) {
        let answer = try await fleet.send("GET", "http://\(fleet.roles[role]!.address)/readyz")
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
      }
      for role in roles { #expect(try await fleet.metric(role, metric) == 0) }
      _ = try await redis.send(["CONFIG", "SET", "maxmemory", "1"])
      do {
        let refused = try await fleet.register("1000000000001", id: "a")
        #expect(refused.status == 503)
        #expect(String(decoding: refused.body, as: UTF8.self).contains("Nothing was kept of this request."))
        let job =
          #"{"format":1,"synchronizationId":"s","publisherId":1001,"customerId":"7","transactionId":"1000000000002","#
          + #""registeredAt":1}"#
        try await fleet.send([
          AMQPMessage(exchange: "", routingKey: fleet.topology.jobs, messageID: "s", body: Array(job.utf8))
        ])
        for role in ["gateway-1", "worker-1"] {
          try await eventually("\(role) names the error") {
            let (status, text) = try await readiness(role)
            return status == 503 && text.contains("not ready: redis: OOM ")
          }
          #expect(try await fleet.metric(role, metric) == 1)
          #expect(try await fleet.metric(role, "countersign_connection_up{connection=\"redis\"}") == 1)
        }
      } catch {
        _ = try await redis.send(["CONFIG", "SET", "maxmemory", "0"])
        throw error
      }
      _ = try await redis.send(["CONFIG", "SET", "maxmemory", "0"])
      for role in roles { try await fleet.ready(role) }
      for role in roles { #expect(try await fleet.metric(role, metric) == 0) }
      #expect(try await fleet.register("1000000000001", id: "a").status == 202)
      _ = try await fleet.finished(["a", "s"])
      let gateway = fleet.log("gateway-1").split(separator: "\n")
      #expect(gateway.count { $0.contains("\"event\":\"Redis refuses writes\"") } == 1)
      #expect(gateway.count { $0.contains("\"event\":\"Redis accepts writes again\"") } == 1)
    }
    redis.close()
  }
}
