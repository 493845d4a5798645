import Configuration
import Domain
import Ledger

/// The endpoints of a publisher at the time of a reading, by id and by topic.
///
/// A publisher may have a thousand endpoints, and an event goes to one or two. So a search must not visit all of them.
struct EndpointIndex {
  /// An endpoint at the time of the reading. All of its deliveries share it.
  final class Entry: Sendable {
    let endpoint: WebhookEndpoint
    /// Whether it was disabled then. This counts only while the ledger does not answer.
    let wasDisabled: Bool

    init(_ endpoint: WebhookEndpoint, wasDisabled: Bool) {
      self.endpoint = endpoint
      self.wasDisabled = wasDisabled
    }
  }

  /// The endpoints of the publisher's file in this index.
  let configured: [Publisher.WebhookEndpoint]
  /// The revision of the endpoints of the API; `nil` if it is not known.
  let revision: Int64?
  private var byId: [EndpointId: Entry] = [:]
  private var byTopic: [EventTopic: [Entry]] = [:]

  /// - Parameter snapshot: the endpoints of the API, and the disabled ones of both kinds; `nil` if neither is known.
  init(_ configured: [Publisher.WebhookEndpoint], _ snapshot: WebhookEndpointStore.Snapshot?) {
    self.configured = configured
    revision = snapshot.flatMap { Int64($0.version) }
    let disabled = snapshot?.disabled ?? []
    for endpoint in configured.map({ WebhookEndpoint($0) }) + (snapshot?.endpoints ?? []) {
      // If both have the same id, the endpoint of the file wins.
      guard byId[endpoint.id] == nil else { continue }
      let entry = Entry(endpoint, wasDisabled: disabled.contains(endpoint.id))
      byId[endpoint.id] = entry
      for topic in Set(endpoint.topics) { byTopic[topic, default: []].append(entry) }
    }
  }

  /// Returns an endpoint; `nil` if there is no such endpoint.
  func endpoint(_ id: EndpointId) -> Entry? { byId[id] }

  /// Returns the endpoints that get the events of a topic: first those of the publisher's file, then the others in the
  /// order of creation.
  ///
  /// - Parameter environment: that of the event's purchase; `nil` for an event about no purchase.
  func endpoints(topic: EventTopic, environment: WebhookEnvironment?) -> [Entry] {
    let all = byTopic[topic] ?? []
    guard let environment else { return all }
    return all.filter { $0.endpoint.environment ?? environment == environment }
  }
}
