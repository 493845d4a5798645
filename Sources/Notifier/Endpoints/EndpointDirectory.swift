import Configuration
import Domain
import EventLoop
import Ledger

/// The endpoints of each publisher: those in its file, and those of the API. The directory asks the ledger for them at
/// most once a second.
///
/// An endpoint may be deleted or disabled in between. The question before an attempt notices that. An endpoint may be
/// created in between. The commit that notes the look notices that, by the revision. While the ledger is away, the
/// directory keeps its last answer about the endpoints of the API and about disabled endpoints.
@LoopActor
final class EndpointDirectory {
  /// The maximum age of an answer.
  static let freshness: Duration = .seconds(1)

  typealias Entry = EndpointIndex.Entry

  /// Reads the endpoints of a publisher, as `WebhookEndpointStore.endpoints(_:since:configured:)` does.
  typealias Read =
    @LoopActor (_ publisher: PublisherId, _ since: String?, _ configured: [EndpointId]) async throws
    -> WebhookEndpointStore.Snapshot?

  private struct Known {
    /// The last snapshot that a reading returned; `nil` before the first one.
    let snapshot: WebhookEndpointStore.Snapshot?
    /// The endpoints of the publisher's file that the reading asked about.
    let configured: [EndpointId]
    let readAt: ContinuousClock.Instant
    let index: EndpointIndex
  }

  private let readStore: Read
  private var known: [PublisherId: Known] = [:]
  private var reading: [PublisherId: Task<Known, any Error>] = [:]

  init(_ read: @escaping Read) { readStore = read }

  /// The endpoints that get the events of a topic.
  struct Found {
    let entries: [Entry]
    /// The revision of the endpoints of the API at that time.
    let revision: Int64?
    /// The environment of the event's purchase.
    let environment: WebhookEnvironment?

    /// What the ledger needs to know about this look.
    var look: EndpointLook {
      EndpointLook(entries.map(\.endpoint.id), revision: revision, environment: environment)
    }
  }

  /// Returns the endpoints of a publisher that get the events of a topic.
  ///
  /// - Parameter environment: that of the event's purchase; `nil` for an event about no purchase.
  /// - Throws: `PostgresError` if the ledger is away and never answered for this publisher.
  func endpoints(
    of publisher: Publisher, topic: EventTopic, environment: WebhookEnvironment? = nil
  ) async throws -> Found {
    let index = try await index(of: publisher)
    return Found(
      entries: index.endpoints(topic: topic, environment: environment), revision: index.revision,
      environment: environment)
  }

  /// Returns one endpoint, even one that was created a moment ago; `nil` if there is no such endpoint.
  ///
  /// - Throws: `PostgresError` if the ledger is away and the directory does not know the endpoint: it may exist all the
  ///   same.
  func endpoint(_ id: EndpointId, of publisher: Publisher) async throws -> Entry? {
    if let forward = publisher.notifications.forward(id) {
      return Entry(WebhookEndpoint(forward), wasDisabled: false)
    }
    if let configured = publisher.webhooks.first(where: { $0.id == id }) {
      // The file has the endpoint, whatever the ledger says. The ledger only knows its health.
      return (try? await index(of: publisher))?.endpoint(id)
        ?? Entry(WebhookEndpoint(configured), wasDisabled: false)
    }
    if let found = try await index(of: publisher).endpoint(id) { return found }
    // A reading under way may have begun before the creation of the endpoint.
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

  /// The index of a reading, with the endpoints that the publisher's file has now.
  private func index(_ publisher: Publisher, _ known: Known) -> EndpointIndex {
    known.index.configured == publisher.webhooks ? known.index : EndpointIndex(publisher.webhooks, known.snapshot)
  }

  private func current(_ publisher: Publisher, _ old: Known?) async throws -> Known {
    if let old, ContinuousClock.now - old.readAt < Self.freshness { return old }
    return try await read(publisher, old)
  }

  /// Reads the changes. Callers that arrive meanwhile get the same answer.
  private func read(_ publisher: Publisher, _ old: Known?) async throws -> Known {
    let id = publisher.id
    if let task = reading[id] { return try await task.value }
    let configured = publisher.webhooks.map(\.id)
    let task = Task { @LoopActor in
      // The task removes itself. A caller must not do that: the first caller that resumes must not find the task still
      // under way.
      defer { reading[id] = nil }
      // The time before the question, so that no answer counts as fresher than it is.
      let start = ContinuousClock.now
      // A changed file has other endpoints, and the old answer lacks their health. Secrets that could not be decrypted
      // are read again: meanwhile the process may have got their key.
      let version = old.flatMap { old in
        old.snapshot?.isWhole == true && old.configured == configured
          ? old.snapshot?.version : nil
      }
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
