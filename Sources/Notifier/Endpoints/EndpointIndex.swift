import Configuration
import Domain
import Formats
import Ledger

/// The endpoints of a publisher as they were when they were read, found by id and by topic without a look at all of them:
/// there may be a thousand, and an event is for one or two.
struct EndpointIndex {
  /// An endpoint as it was; shared by all of its deliveries.
  final class Entry: Sendable {
    let endpoint: WebhookEndpoint
    /// Whether it was disabled then; counts only while Redis cannot be asked.
    let wasDisabled: Bool

    init(_ endpoint: WebhookEndpoint, wasDisabled: Bool) {
      self.endpoint = endpoint
      self.wasDisabled = wasDisabled
    }
  }

  /// The endpoints of the publisher's file that are in it.
  let configured: [Publisher.WebhookEndpoint]
  private var byId: [ExactText: Entry] = [:]
  private var byTopic: [ExactText: [Entry]] = [:]

  /// - Parameter snapshot: the endpoints of the API, and who is disabled; `nil` for nothing of it.
  init(_ configured: [Publisher.WebhookEndpoint], _ snapshot: WebhookEndpointStore.Snapshot?) {
    self.configured = configured
    let disabled = snapshot?.disabled ?? []
    for endpoint in configured.map({ WebhookEndpoint($0) }) + (snapshot?.endpoints ?? []) {
      // The file's comes first, should both have one.
      guard byId[endpoint.id.exact] == nil else { continue }
      let entry = Entry(endpoint, wasDisabled: disabled.contains(endpoint.id.exact))
      byId[endpoint.id.exact] = entry
      for topic in Set(endpoint.topics.map(\.exact)) { byTopic[topic, default: []].append(entry) }
    }
  }

  /// Returns an endpoint; `nil` when there is none.
  func endpoint(_ id: String) -> Entry? { byId[id.exact] }

  /// Returns those that get the events of a topic, the publisher's file's first, then in the order of their creation.
  func endpoints(topic: String) -> [Entry] { byTopic[topic.exact] ?? [] }
}
