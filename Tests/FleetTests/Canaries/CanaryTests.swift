import AMQP
import Configuration
import Crypto
import Doors
import EventLoop
import Fleets
import Formats
import FoundationEssentials
import Glibc
import HTTP
import HTTPServer
import Messaging
import ServerSupport
import Testing

/// Plants a canary in every setting that is a secret, lets a fleet work and fail, and searches all that it wrote.
@Suite(
  .breakingServers,
  .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct CanaryTests {
  @Test func `no secret is in a log, a metric, an answer, a message or a row`() async throws {
    let plan = try CanaryPlan()
    try await WebhookReceiver.with { receiver async throws in
      try await RunningFleet.with(
        ["gateway-1", "worker-1", "notifier-1"], overrides: plan.environment,
        prepare: { fleet in try plan.write(to: fleet, receiver: receiver) }
      ) { fleet async throws in
        let caught = CanaryCatch(fleet)
        let queues = [fleet.topology.deadJobs, fleet.topology.deadDeliveries].map { caught.follow($0) }
        let events = fleet.prefix + ".canaries"
        let subscriber = caught.follow(events) { channel in
          try await channel.declareQueue(events, arguments: ["x-queue-type": "quorum", "x-expires": 600_000])
          try await channel.bindQueue(events, to: fleet.topology.events, routingKey: "#")
        }
        let work = CanaryWork(fleet: fleet, plan: plan, caught: caught, receiver: receiver)
        try await work.run()
        try await caught.readRoles(["gateway-1", "worker-1", "notifier-1"])
        try await caught.readLedger()
        try await caught.readRedis()
        try caught.readLogs()
        for consumer in queues + [subscriber] { await consumer.stop() }

        for place in [
          "table webhook_endpoints", "table audit", "table attempts", "message of \(fleet.topology.deadDeliveries)",
          "headers of \(fleet.topology.deadDeliveries)", "message of \(events)", "gateway-1/metrics", "Redis",
        ] {
          #expect(caught.texts.contains { $0.place == place }, "\(place) was searched")
        }
        #expect(caught.has("[secret]", in: "table attempts"), "the receiver echoed secrets")
        let findings = caught.findings(plan.canaries).filter { line in
          // A publisher may see the addresses of its own endpoints.
          !(line.hasPrefix("webhooks.url ") && line.contains("answer to GET /3.1/webhook_endpoints"))
        }
        #expect(findings.isEmpty, "\(findings.joined(separator: "\n"))")
      }
    }
  }

  /// A setting that is new and secret needs a canary.
  @Test func `every secret setting of the reference has a canary`() throws {
    let (settings, publisher) = ConfigurationLoader.reference(DoorRegistry.all)
    var secret: Set<String> = []
    func add(_ prefix: String, _ keys: [KeyDescription]) {
      for key in keys {
        let name = key.key.lowercased()
        let isNamedSo = ["password", "secret", "privatekey", "keysfile"].contains { name.contains($0) }
        // A switch such as ledger.refusesPlainSecrets holds nothing.
        let isSwitch = ["`true`", "`false`"].contains(key.fallback)
        if key.isSecret || isNamedSo && !isSwitch { secret.insert(prefix + key.key) }
      }
    }
    add("", settings)
    for (part, keys) in publisher { add(part.isEmpty ? "" : part + ".", keys) }
    #expect(secret.count > 20)
    let planted = try CanaryPlan().planted
    #expect(secret.subtracting(planted.keys).sorted() == [], "these have no canary")
    #expect(Set(planted.keys).subtracting(secret).sorted() == [], "these are no secret settings")
  }

  @Test func `the search finds every form`() throws {
    let canary = try Canary.text("a")
    let percent = PercentCoding.encoded(canary.text)
    #expect(percent != canary.text)
    for length in 0..<4 {
      let around = [UInt8](repeating: 65, count: length) + canary.bytes + Array("xyz".utf8)
      for text in [
        String(decoding: around, as: UTF8.self), Base64.encode(around), Base64URL.encode(around), Hex.encode(around),
        Hex.encode(Array(Base64.encode(around).utf8)), "{\"a\":\"\(percent)\"}",
      ] {
        #expect(canary.found(in: Array(("before " + text + " after").utf8)) != nil, "\(text)")
      }
    }
    let bytes = Canary("b", try secureRandomBytes(32))
    #expect(bytes.found(in: Array("whsec_\(Base64.encode(bytes.bytes))".utf8)) == "base64")
    #expect(canary.found(in: bytes.bytes) == nil && bytes.found(in: Array("nothing".utf8)) == nil)
  }
}
