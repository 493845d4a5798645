import EventLoop
import Fleets
import JSON
import TestSupport

/// The parts that a test uses.
struct WebhookParts {
  let fleet: RunningFleet
  let receiver: WebhookReceiver
  var api: WebhookAPIClient { WebhookAPIClient(fleet: fleet) }

  /// Creates an endpoint at a path of the receiver.
  @LoopActor func endpoint(
    _ path: String, _ members: String = "", topics: String = "inappPurchaseSyncResult"
  ) async throws -> (id: String, secret: String) {
    let topics = topics.split(separator: ",").map { "\"\($0)\"" }.joined(separator: ",")
    return try await api.create(
      "\"url\":\"\(receiver.url(path))\",\"topics\":[\(topics)]\(members.isEmpty ? "" : ",\(members)")")
  }

  /// The log of an endpoint, the oldest attempt first, once it fulfils a condition.
  @LoopActor func log(_ id: String, until isMet: ([JSONValue]) -> Bool) async throws -> [JSONValue] {
    var found: [JSONValue] = []
    try await eventually("the log of \(id)") {
      found = try await api.send("GET", "webhook_endpoints/\(id)/attempts?limit=100").list("attempts").reversed()
      return isMet(found)
    }
    return found
  }
}

/// A fleet with a receiver of webhooks.
@LoopActor
protocol WebhookSuite {}

extension WebhookSuite {
  func with(
    _ roles: [String] = ["gateway-1", "notifier-1"], overrides: [String: String] = [:],
    prepare: @LoopActor (RunningFleet) throws -> Void = { _ in },
    _ body: @LoopActor (WebhookParts) async throws -> Void
  ) async throws {
    try await WebhookReceiver.with { receiver async throws in
      try await RunningFleet.with(roles, overrides: overrides, prepare: prepare) { fleet async throws in
        try await body(WebhookParts(fleet: fleet, receiver: receiver))
      }
    }
  }

  /// An attempt at a silent receiver must not time out before the test has seen its effect.
  static var patient: [String: String] { ["COUNTERSIGN_NOTIFIER_TIMEOUT_SECONDS": "120"] }
}
