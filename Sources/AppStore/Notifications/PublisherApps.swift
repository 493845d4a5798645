public import Domain

/// The apps of all publishers: one verifier serves every publisher, and afterwards the notification finds its own.
///
///     let verdict = verifier.notification(text, expecting: apps.accepted)
///     let publishers = verdict.payload.map { apps.publishers(of: $0.origin) }
///
/// Several publishers may list one app. One of them may accept only its production, or have Apple's id of it wrong.
/// That must not cost the others their notifications, so each entry judges for itself.
///
/// Build it once per reading of the publishers: a notification then costs two look-ups, however many apps there are.
public struct PublisherApps: Sendable {
  /// An app, with the publisher that lists it.
  public struct Listed: Sendable {
    let publisherId: PublisherId
    let app: AcceptedApps.App

    /// Creates an entry of a list.
    public init(publisherId: PublisherId, _ app: AcceptedApps.App) { (self.publisherId, self.app) = (publisherId, app) }
  }

  /// What one publisher accepts of one app.
  private struct Entry {
    let publisherId: PublisherId
    let apps: AcceptedApps
  }

  /// What at least one publisher accepts.
  public let accepted: AcceptedApps
  private let entries: [BundleId: [Entry]]

  /// Takes the apps of all publishers, in any order.
  public init(_ apps: [Listed]) {
    accepted = AcceptedApps(apps.map(\.app))
    entries = Dictionary(grouping: apps) { $0.app.bundleId }.mapValues { listed in
      Dictionary(grouping: listed, by: \.publisherId).sorted { $0.key < $1.key }.map {
        Entry(publisherId: $0.key, apps: AcceptedApps($0.value.map(\.app)))
      }
    }
  }

  /// Returns the ids of the publishers that accept data of this origin, in ascending order.
  public func publishers(of origin: NotificationOrigin) -> [PublisherId] {
    (entries[origin.bundleId] ?? []).filter { $0.apps.accepts(origin) }.map(\.publisherId)
  }
}
