import Domain
import Formats

/// The changes that replace the endpoints of a topic's subscriptions by a new list, decided from values alone.
struct SubscriptionReplacement: Equatable {
  /// The endpoints of the new list, in its order.
  private(set) var list: [WebhookEndpoint] = []
  private(set) var created: [StoredEndpoint] = []
  /// The changed endpoints, and the names of the members that changed.
  private(set) var updated: [Update] = []
  /// The ids of endpoints that are not in the new list.
  private(set) var removed: [EndpointId] = []

  struct Update: Equatable {
    let row: StoredEndpoint
    let members: [String]
  }

  var isEmpty: Bool { created.isEmpty && updated.isEmpty && removed.isEmpty }

  /// - Parameters:
  ///   - known: all endpoints of the publisher.
  ///   - wanted: the new list; no URL is in it twice.
  ///   - now: milliseconds since 1970.
  init(_ known: [StoredEndpoint], topic: EventTopic, wanted: [WebhookEndpointStore.Subscription], now: Int64) {
    var left: [ExactText: StoredEndpoint] = [:]
    for row in known where row.endpoint.source == .subscription {
      guard row.endpoint.topics == [topic] else { continue }
      if let other = left.updateValue(row, forKey: ExactText(row.endpoint.url)) { removed.append(other.endpoint.id) }
    }
    for subscription in wanted {
      let putKey = subscription.hasOwnKey ? StoredEndpoint.hash(subscription.endpoint) : nil
      guard var row = left.removeValue(forKey: ExactText(subscription.endpoint.url)) else {
        var new = subscription.endpoint
        (new.createdAt, new.updatedAt) = (now, now)
        created.append(StoredEndpoint(new, putKey: putKey))
        list.append(new)
        continue
      }
      let old = row
      row.endpoint.retry = subscription.endpoint.retry
      row.endpoint.paymentMethodId = subscription.endpoint.paymentMethodId
      // Each deployment puts the same list again, and must not bring back a key that was rotated away since.
      // If nobody can read which key was put last, the row cannot be written, and the request fails.
      if let putKey, putKey != row.putKey {
        row.endpoint.secrets = subscription.endpoint.secrets
        row.putKey = putKey
      }
      if row != old {
        row.endpoint.updatedAt = now
        updated.append(Update(row: row, members: StoredEndpoint.differences(old.endpoint, row.endpoint)))
      }
      list.append(row.endpoint)
    }
    removed += left.sorted { $0.key < $1.key }.map(\.value.endpoint.id)
  }
}
