import Domain
import Formats
import Redis
import Testing

@testable import Ledger

/// Replies that no script of ours gives: the stores report an error, never an answer.
struct WebhookRepliesTests {
  private static let record: [RESPValue] = [
    "revision", "1", "url", "https://example.com", "topics", #"["t"]"#, "format", "cleeng", "signature", "v1",
    "secrets",
    #"[{"key":"AQ=="}]"#, "retry", "standard", "source", "api", "created_at", "5", "updated_at", "6", "max_concurrency",
    "10",
  ].map { .text($0) }
  private let pair = RESPValue.array([.text("ep_a"), .array(record)])

  @Test func snapshots() throws {
    #expect(try WebhookEndpointStore.Snapshot.read(.null) == nil)
    let snapshot = try WebhookEndpointStore.Snapshot.read(
      .array([.text("7"), .array([pair]), .array([.text("ep_a")])]))
    #expect(snapshot?.endpoints.map(\.id) == ["ep_a"])
    #expect(snapshot?.disabled == ["ep_a"] && snapshot?.version == "7")
  }

  @Test(arguments: [
    RESPValue.integer(1), .text("OK"), .array([]), .array([.text("7"), .array([])]),
    .array([.text("7"), .null, .array([])]), .array([.null, .array([]), .array([])]),
    .array([.text("7"), .array([.text("ep_a")]), .array([])]),
    .array([.text("7"), .array([.array([.text("ep_a"), .array([])])]), .array([])]),
    .array([.text("7"), .array([.array([.text("ep_a"), .array([.text("url"), .text("u")])])]), .array([])]),
  ])
  func noSnapshot(reply: RESPValue) {
    #expect(throws: RedisError.self) { try WebhookEndpointStore.Snapshot.read(reply) }
  }

  @Test func creations() throws {
    let endpoint = WebhookEndpoint(id: "ep_a", url: "u", topics: [], secrets: [])
    #expect(try WebhookEndpointStore.Creation.read(.integer(0), endpoint) == .full)
    guard case .created(let kept) = try WebhookEndpointStore.Creation.read(.integer(9), endpoint) else {
      Issue.record("it was not created")
      return
    }
    #expect(kept.createdAt == 9 && kept.updatedAt == 9)
    for reply in [RESPValue.null, .text("x"), .array([]), .integer(-1)] {
      #expect(throws: RedisError.self) { try WebhookEndpointStore.Creation.read(reply, endpoint) }
    }
  }

  @Test func replacements() throws {
    let read = WebhookEndpointStore.Replacement.read
    #expect(try read(.integer(0), []) == .full)
    guard
      case .replaced(let list, let new, let removed) = try read(
        .array([.array([pair]), .array([.text("ep_b")])]), ["ep_a", "ep_c"])
    else {
      Issue.record("it was not replaced")
      return
    }
    #expect(list.map(\.id) == ["ep_a"] && new == ["ep_a"] && removed == ["ep_b"])
    for reply in [RESPValue.null, .integer(1), .array([]), .array([.array([]), .null]), .array([.null, .array([])])] {
      #expect(throws: RedisError.self) { try read(reply, []) }
    }
  }

  @Test func flags() throws {
    #expect(try RESPValue.integer(1).flag("x"))
    #expect(try !RESPValue.integer(0).flag("x"))
    for reply in [RESPValue.null, .integer(2), .text("yes"), .array([])] {
      #expect(throws: RedisError.self) { try reply.flag("x") }
    }
  }

  /// The records hold secrets.
  @Test func nothingOfAReplyIsTold() {
    let secret = RESPValue.array([
      .text("7"), .array([.array([.text("ep_a"), .array([.text("secrets"), .text("S3")])])]),
    ])
    let error = #expect(throws: RedisError.self) { try WebhookEndpointStore.Snapshot.read(secret) }
    #expect(error?.description.contains("S3") == false)
  }
}
