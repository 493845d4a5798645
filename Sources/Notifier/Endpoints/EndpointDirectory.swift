import Configuration
import Domain
import EventLoop
import Formats
import Ledger

/// Which endpoints a publisher has: those of its file, and those of the API, which are asked for once a second at most.
///
/// Whether one of them was deleted or disabled meanwhile, the script says that begins an attempt. While Redis is away,
/// those of the API, and who is disabled, are as they were last known.
@LoopActor
final class EndpointDirectory {
  /// How old an answer may be.
  static let freshness: Duration = .seconds(1)

  typealias Entry = EndpointIndex.Entry

  /// Reads the endpoints of a publisher, as `WebhookEndpointStore.endpoints(_:since:configured:)` does.
  typealias Read =
    @LoopActor (_ publisher: Int64, _ since: String?, _ configured: [String]) async throws
    -> WebhookEndpointStore.Snapshot?

  private struct Known {
    /// `nil` while there were none.
    let snapshot: WebhookEndpointStore.Snapshot?
    /// The endpoints of the publisher's file that were asked about.
    let configured: [String]
    let readAt: ContinuousClock.Instant
    let index: EndpointIndex
  }

  private let readStore: Read
  private var known: [Int64: Known] = [:]
  private var reading: [Int64: Task<Known, any Error>] = [:]

  init(_ read: @escaping Read) { readStore = read }

  /// Returns the endpoints of a publisher that get the events of a topic.
  ///
  /// - Throws: `RedisError` when Redis is away and has never been asked about this publisher.
  func endpoints(of publisher: Publisher, topic: String) async throws -> [Entry] {
    try await index(of: publisher).endpoints(topic: topic)
  }

  /// Returns one endpoint, also one that was made a moment ago; `nil` when there is none.
  ///
  /// - Throws: `RedisError` when Redis is away, and the endpoint is not known: it may be there all the same.
  func endpoint(_ id: String, of publisher: Publisher) async throws -> Entry? {
    if let configured = publisher.webhooks.first(where: { $0.id.exact == id.exact }) {
      // It is there whatever Redis says; only its health is asked for.
      return (try? await index(of: publisher))?.endpoint(id)
        ?? Entry(WebhookEndpoint(configured), wasDisabled: false)
    }
    if let found = try await index(of: publisher).endpoint(id) { return found }
    // A reading that is under way may have begun before the endpoint was made.
    _ = try? await reading[publisher.id]?.value
    return index(publisher, try await read(publisher, known[publisher.id])).endpoint(id)
  }

  private func index(of publisher: Publisher) async throws -> EndpointIndex {
    let now: Known
    let old = known[publisher.id]
    do {
      now = try await current(publisher, old)
    } catch {
      guard let old else { throw error }
      now = old
    }
    return index(publisher, now)
  }

  /// What was read, with the endpoints of the file that the publisher has now.
  private func index(_ publisher: Publisher, _ known: Known) -> EndpointIndex {
    known.index.configured == publisher.webhooks ? known.index : EndpointIndex(publisher.webhooks, known.snapshot)
  }

  private func current(_ publisher: Publisher, _ old: Known?) async throws -> Known {
    if let old, ContinuousClock.now - old.readAt < Self.freshness { return old }
    return try await read(publisher, old)
  }

  /// Reads what has changed; whoever asks meanwhile gets the same answer.
  private func read(_ publisher: Publisher, _ old: Known?) async throws -> Known {
    let id = publisher.id
    if let task = reading[id] { return try await task.value }
    let configured = publisher.webhooks.map(\.id)
    let task = Task { @LoopActor in
      // Here, and not by who awaits it: whoever is woken first must not find it still under way.
      defer { reading[id] = nil }
      // From before the question, so that nothing counts as fresher than it is.
      let start = ContinuousClock.now
      // Another file asks about others, whose health the old answer does not have.
      let version = old.flatMap { $0.configured.map(\.exact) == configured.map(\.exact) ? $0.snapshot?.version : nil }
      let new = try await readStore(id, version, configured)
      let snapshot = new ?? old?.snapshot
      let index =
        if let old, new == nil { index(publisher, old) } else { EndpointIndex(publisher.webhooks, snapshot) }
      let read = Known(snapshot: snapshot, configured: configured, readAt: start, index: index)
      known[id] = read
      return read
    }
    reading[id] = task
    return try await task.value
  }
}
