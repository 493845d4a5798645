import Configuration
import EventLoop
import Fleet
import Purchases

/// Which endpoints a publisher has: those of its file, and those of the API, which are asked for once a second at most.
///
/// Whether one of them was deleted or disabled meanwhile, the script says that begins an attempt. While Redis is away,
/// those of the API are as they were last known.
@LoopActor
final class EndpointDirectory {
  /// How old an answer may be.
  static let freshness: Duration = .seconds(1)

  private struct Known {
    /// `nil` while there were none.
    var snapshot: WebhookEndpointStore.Snapshot?
    var readAt: ContinuousClock.Instant
  }

  private let store: WebhookEndpointStore
  private var known: [Int64: Known] = [:]
  private var reading: [Int64: Task<Known, any Error>] = [:]

  init(_ store: WebhookEndpointStore) { self.store = store }

  /// Returns the endpoints of a publisher.
  ///
  /// - Throws: `RedisError` when Redis is away and has never been asked about this publisher.
  func endpoints(of publisher: Publisher) async throws -> [WebhookEndpoint] {
    publisher.webhooks.map { WebhookEndpoint($0) } + (try await ofAPI(publisher.id, within: Self.freshness))
  }

  /// Returns one endpoint, also one that was made a moment ago; `nil` when there is none.
  ///
  /// - Throws: as ``endpoints(of:)`` does.
  func endpoint(_ id: String, of publisher: Publisher) async throws -> WebhookEndpoint? {
    if let configured = publisher.webhooks.first(where: { $0.id == id }) { return WebhookEndpoint(configured) }
    if let found = try await ofAPI(publisher.id, within: Self.freshness).first(where: { $0.id == id }) { return found }
    // A reading that is under way may have begun before the endpoint was made.
    _ = try? await reading[publisher.id]?.value
    return try await ofAPI(publisher.id, within: .zero).first { $0.id == id }
  }

  private func ofAPI(_ publisher: Int64, within freshness: Duration) async throws -> [WebhookEndpoint] {
    let old = known[publisher]
    if let old, ContinuousClock.now - old.readAt < freshness { return old.snapshot?.endpoints ?? [] }
    do {
      return try await read(publisher, old).snapshot?.endpoints ?? []
    } catch {
      guard let old else { throw error }
      return old.snapshot?.endpoints ?? []
    }
  }

  /// Reads what has changed; whoever asks meanwhile gets the same answer.
  private func read(_ publisher: Int64, _ old: Known?) async throws -> Known {
    if let task = reading[publisher] { return try await task.value }
    let task = Task { @LoopActor in
      // From before the question, so that nothing counts as fresher than it is.
      let start = ContinuousClock.now
      let snapshot = try await store.endpoints(publisher, since: old?.snapshot?.version) ?? old?.snapshot
      return Known(snapshot: snapshot, readAt: start)
    }
    reading[publisher] = task
    defer { reading[publisher] = nil }
    let read = try await task.value
    known[publisher] = read
    return read
  }
}
