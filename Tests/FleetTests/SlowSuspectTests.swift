import AMQP
import Domain
import EventLoop
import Fleets
import JSON
import ServerSupport
import TestSupport
import Testing

/// Deliveries that look as if they had killed notifiers, at endpoints that do not answer.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct SlowSuspectTests {
  @Test func `suspects at endpoints that hang keep the others waiting for a moment only`() async throws {
    // No attempt may time out before the test has seen its effect.
    let patient = ["COUNTERSIGN_NOTIFIER_TIMEOUT_SECONDS": "120"]
    try await WebhookReceiver.with { receiver async throws in
      try await RunningFleet.with(["gateway-1", "notifier-1"], overrides: patient) { fleet async throws in
        let api = WebhookAPIClient(fleet: fleet)
        func endpoint(_ path: String, _ topic: String) async throws -> String {
          try await api.create(#""url":"\#(receiver.url(path))","topics":["\#(topic)"]"#).id
        }
        let paths = (0..<3).map { "hanging-\($0)" }
        var hanging: [String] = []
        for path in paths { hanging.append(try await endpoint(path, "inappPurchaseSyncResult")) }
        _ = try await endpoint("healthy", "entitlementsChanged")
        receiver.silent = Set(paths)

        // Two notifiers have died while they had it. From here on each endpoint's delivery is a suspect of its own.
        var suspect = try await fleet.commit(["evt_suspect"])[0]
        suspect.headers["countersign-crashes"] = 2
        try await fleet.send([suspect])
        for begun in 1...paths.count {
          try await receiver.requests.wait { Set($0.map(\.path)).intersection(paths).count >= begun }
          // One more suspect waits for its answer, and the others' deliveries go on.
          try await fleet.publish((0..<20).map { "evt_\(begun)_\($0)" }, topic: "entitlementsChanged")
          _ = try await receiver.wait("healthy", for: 20 * begun)
        }
        // None of them has waited for the end of an attempt.
        for path in paths { #expect(receiver.got(path).count == 1) }
        // The event itself was a suspect too.
        #expect(fleet.logged("run alone: earlier runs did not end").count > paths.count)
        receiver.silent = []
        for id in hanging {
          var log: [JSONValue] = []
          try await eventually("the delivery to \(id)") {
            log = try await api.send("GET", "webhook_endpoints/\(id)/attempts").list("attempts")
            return !log.isEmpty
          }
          #expect(log.map { $0.text("outcome") } == ["delivered"])
          #expect(log.map { $0.number("attempt") } == [1])
        }
        for path in paths { #expect(receiver.got(path).count == 1) }
      }
    }
  }
}
