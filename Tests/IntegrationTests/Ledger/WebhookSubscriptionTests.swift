import Domain
import EventLoop
import Fleets
import Ledger
import ServerSupport
import TestSupport
import Testing

/// The documented form of subscriptions in a real ledger: a new list replaces the old one.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct WebhookSubscriptionTests {
  private func with(_ body: @LoopActor (WebhookEndpointStore) async throws -> Void) async throws {
    try await LedgerDatabase.migrated { ledger in try await body(WebhookEndpointStore(ledger)) }
  }

  private func subscription(
    _ url: String, _ id: EndpointId, topic: EventTopic = "t", key: [UInt8] = [1], hasOwnKey: Bool = false,
    retry: WebhookEndpoint.Retry = .standard
  ) -> WebhookEndpointStore.Subscription {
    WebhookEndpointStore.Subscription(
      endpoint: WebhookEndpoint(
        id: id, url: url, topics: [topic], secrets: [.init(key: key)], retry: retry, source: .subscription),
      hasOwnKey: hasOwnKey)
  }

  private func replace(
    _ store: WebhookEndpointStore, topic: EventTopic = "t", _ list: [WebhookEndpointStore.Subscription]
  ) async throws -> (endpoints: [WebhookEndpoint], new: Set<EndpointId>, removed: [EndpointId]) {
    guard case .replaced(let endpoints, let new, let removed) = try await store.replace(1, topic: topic, with: list)
    else {
      throw NeverHappened(description: "the list was not replaced")
    }
    return (endpoints, new, removed)
  }

  @Test func `an unchanged url keeps its id and its key, and what is missing goes`() async throws {
    try await with { (store) async throws in
      let first = try await replace(store, [subscription("a", "1"), subscription("b", "2")])
      #expect(first.endpoints.map(\.id) == ["1", "2"])
      #expect(first.new == ["1", "2"])
      #expect(try await store.disable(1, "1"))

      let second = try await replace(
        store, [subscription("c", "3"), subscription("b", "4", key: [2]), subscription("d", "5")])
      #expect(second.endpoints.map(\.id) == ["3", "2", "5"])
      #expect(second.new == ["3", "5"])
      #expect(second.removed == ["1"])
      #expect(second.endpoints[1] == first.endpoints[1])
      #expect(try await store.endpoint(1, "1") == nil)
      // The same address returns as a new endpoint, without the old one's health.
      let third = try await replace(store, [subscription("a", "6")])
      #expect(third.new == ["6"])
      #expect(try await store.health(1, ["1", "6"]) == [EndpointHealth(), EndpointHealth()])
      #expect(try await store.endpoints(1)?.endpoints == third.endpoints)
    }
  }

  @Test func `a given key and another schedule take the place of the old ones`() async throws {
    try await with { (store) async throws in
      let first = try await replace(store, [subscription("a", "1", retry: .never)]).endpoints[0]
      #expect(first.retry == .never)
      let second = try await replace(store, [subscription("a", "2", key: [9], hasOwnKey: true)]).endpoints[0]
      #expect(second.id == "1")
      #expect(second.secrets == [.init(key: [9])])
      #expect(second.retry == .standard)
      #expect(second.createdAt == first.createdAt)
    }
  }

  @Test func `the same list put again brings no key back that was rotated away`() async throws {
    try await with { (store) async throws in
      _ = try await replace(store, [subscription("a", "1", key: [9], hasOwnKey: true)])
      _ = try await store.change(1, "1") { endpoint, _ in endpoint.secrets = [.init(key: [7])] }
      let again = try await replace(store, [subscription("a", "2", key: [9], hasOwnKey: true)]).endpoints[0]
      #expect(again.secrets == [.init(key: [7])])
      let other = try await replace(store, [subscription("a", "3", key: [8], hasOwnKey: true)]).endpoints[0]
      #expect(other.secrets == [.init(key: [8])])
      // The first key is not the last key that was put.
      let back = try await replace(store, [subscription("a", "4", key: [9], hasOwnKey: true)]).endpoints[0]
      #expect(back.secrets == [.init(key: [9])])
    }
  }

  @Test func `other topics and endpoints of the resource API are left alone`() async throws {
    try await with { (store) async throws in
      let own = WebhookEndpoint(id: "r", url: "a", topics: ["t"], secrets: [.init(key: [1])])
      guard case .created(let kept) = try await store.create(1, own) else { return }
      _ = try await replace(store, topic: "u", [subscription("a", "u1", topic: "u")])
      #expect(try await replace(store, [subscription("a", "t1")]).new == ["t1"])
      #expect(try await replace(store, []).endpoints.isEmpty)
      #expect(Set(try await store.endpoints(1)?.endpoints.map(\.id) ?? []) == ["r", "u1"])
      #expect(try await store.endpoint(1, "r") == kept)
    }
  }

  @Test func `of two lists at once one stays, whole`() async throws {
    try await with { (store) async throws in
      let lists = (0..<8).map { number in
        (0..<4).map { subscription("https://\(number).example/\($0)", "ep_\(number)_\($0)") }
      }
      let puts = lists.map { list in Task { @LoopActor in try await store.replace(1, topic: "t", with: list) } }
      for put in puts { _ = try await put.value }
      let left = Set(try await store.endpoints(1)?.endpoints.map(\.id) ?? [])
      #expect(lists.contains { Set($0.map(\.endpoint.id)) == left })
    }
  }
}
