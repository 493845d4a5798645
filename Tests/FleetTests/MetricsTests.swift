import AMQP
import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import Messaging
import ServerSupport
import Testing

/// The metrics of the roles.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct MetricsTests {
  /// An alert on an increase does not see the first event of a series that begins with 1.
  @Test func `every metric is there before anything happens`() async throws {
    let roles = ["gateway-1", "worker-1", "notifier-1"]
    try await RunningFleet.with(roles) { fleet in
      for role in roles {
        let answer = try await fleet.send("GET", "http://\(fleet.roles[role]!.address)/metrics")
        let lines = String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
        let names = lines.filter { $0.hasPrefix("# TYPE ") }.map { $0.split(separator: " ")[2] }
        #expect(names.count > 4)
        for name in names {
          #expect(lines.contains { $0.hasPrefix(name) }, "\(role) has no sample of \(name)")
        }
        let known: [String: [String]] = [
          "gateway-1": [
            "countersign_registrations_total{code=\"S0503\"} 0",
            "countersign_http_requests_total{route=\"register\",status=\"503\"} 0",
            "countersign_connection_losses_total{connection=\"publish\"} 0",
            "countersign_jwks_fetches_total{outcome=\"unreachable\"} 0", "countersign_jwks_overdue_seconds 0",
          ],
          "worker-1": [
            "countersign_job_retries_total{cause=\"unauthorized\"} 0",
            "countersign_results_total{result=\"INTERNAL_ERROR\"} 0",
            "countersign_rejections_total{reason=\"signature_invalid\"} 0",
            "countersign_rejections_total{reason=\"answer_mismatch\"} 0",
            "countersign_connection_losses_total{connection=\"consume\"} 0",
          ],
          "notifier-1": [
            "countersign_dead_deliveries_total{reason=\"abandoned\"} 0",
            "countersign_webhook_endpoints_disabled_total{reason=\"failing\"} 0",
            "countersign_webhook_deliveries_put_off_total{cause=\"rate\"} 0",
            "countersign_webhook_attempts_total{outcome=\"failed\"} 0",
            "countersign_connection_losses_total{connection=\"redis\"} 0",
          ],
        ]
        for sample in known[role]! { #expect(lines.contains(Substring(sample)), "\(role): \(sample)") }
      }
    }
  }

  @Test func `the waiting that an endpoint causes itself is no delay of the notifiers`() async throws {
    try await WebhookReceiver.with { receiver async throws in
      try await RunningFleet.with(["gateway-1", "notifier-1"]) { fleet async throws in
        let api = WebhookAPIClient(fleet: fleet)
        let delay = "countersign_webhook_first_attempt_delay_seconds"
        let wait = "countersign_webhook_endpoint_wait_seconds"
        let topics = #""topics":["inappPurchaseSyncResult"]"#
        let endpoint = try await api.create(#""url":"\#(receiver.url("paced"))","maxPerSecond":1,\#(topics)"#).id
        /// An event that was published so many seconds ago, for this endpoint alone.
        @LoopActor func event(_ id: String, secondsAgo: Double, _ more: [String: AMQPValue] = [:]) -> AMQPMessage {
          let time = AMQPValue.string(Date(timeIntervalSinceNow: -secondsAgo).formatted(.iso8601))
          let headers = ["cloudEvents_time": time, "countersign-endpoint": .string(endpoint)]
          return AMQPMessage(
            exchange: "", routingKey: fleet.topology.deliveries, messageID: id,
            headers: more.merging(headers) { $1 },
            body: Array(#"{"broadcasterId":1001,"data":{},"topic":"inappPurchaseSyncResult"}"#.utf8))
        }
        try await fleet.send((0..<5).map { event("evt_\($0)", secondsAgo: 0) })
        _ = try await receiver.wait("paced", for: 5)
        #expect(try await fleet.metric("notifier-1", wait + "_count") >= 1)
        #expect(
          try await fleet.metric("notifier-1", "countersign_webhook_deliveries_put_off_total{cause=\"rate\"}") >= 1)

        // The event is an hour old, and the endpoint kept it waiting for all of that hour.
        #expect(try await fleet.metric("notifier-1", delay + "_count") == 5)
        try await fleet.send([event("evt_waited", secondsAgo: 3600, ["countersign-waited": .int(3_600_000)])])
        _ = try await receiver.wait("paced", for: 6)
        #expect(try await fleet.metric("notifier-1", delay + "_count") == 6)
        #expect(try await fleet.metric("notifier-1", delay + "_sum") < 3600)
        #expect(try await fleet.metric("notifier-1", wait + "_sum") >= 3600)
      }
    }
  }
}
