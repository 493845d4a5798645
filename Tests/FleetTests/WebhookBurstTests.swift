import AMQP
import Domain
import EventLoop
import Fleets
import Messaging
import ServerSupport
import TestSupport
import Testing

/// Webhooks of one publisher while another one has thousands of events at once.
@Suite(
  .runningFleet,
  .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct WebhookBurstTests: WebhookSuite {
  private static let quiet: PublisherId = 1777

  @Test func `a quiet publisher's webhook waits for no burst, and nothing of the burst is lost`() async throws {
    // A notifier with few places: what it has in hand must not decide.
    try await with(["gateway-1"], overrides: ["COUNTERSIGN_NOTIFIER_CONCURRENCY": "8"]) { (parts) async throws in
      let fleet = parts.fleet
      try fleet.writePublisher(
        Self.quiet,
        #""webhooks": [{"id": "quiet", "url": "\#(parts.receiver.url("quiet"))", "secretFile": "../webhook.secret"}]"#)
      // The time stands still: all of it comes in one moment.
      let queues = DeliveryQueues(fleet.topology, clock: { .zero })
      @LoopActor func publish(_ ids: [String], of publisher: PublisherId) async throws {
        var messages = try await fleet.commit(ids, of: publisher)
        for index in messages.indices { messages[index].routingKey = queues.next(of: publisher) }
        try await fleet.send(messages)
      }
      let ids = (0..<4_100).map { "evt_\($0)" }
      try await publish(ids, of: RunningFleet.publisher)
      try await publish(["evt_quiet"], of: Self.quiet)
      // Before this notifier there is none, so all of it is in the queues.
      try fleet.start("notifier-1")
      _ = try await parts.receiver.wait("quiet", for: 1)
      let before = fleet.webhooks.all.count
      #expect(before < ids.count / 2, "\(before) of \(ids.count) came before it")
      _ = try await fleet.webhooks.wait("all of the burst") { $0.count >= ids.count && Set($0.map(\.id)) == Set(ids) }
    }
  }
}
