import Formats

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
  /// What at least one publisher accepts.
  public let accepted: AcceptedApps
  private let entries: [ExactText: [(publisherId: Int64, apps: AcceptedApps)]]

  /// Takes the apps of all publishers, in any order.
  public init(_ apps: [(publisherId: Int64, app: AcceptedApps.App)]) {
    accepted = AcceptedApps(apps.map(\.app))
    entries = Dictionary(grouping: apps) { $0.app.bundleId.exact }.mapValues { listed in
      Dictionary(grouping: listed, by: \.publisherId).sorted { $0.key < $1.key }.map {
        ($0.key, AcceptedApps($0.value.map(\.app)))
      }
    }
  }

  /// Returns the ids of the publishers that accept data of this origin, in ascending order.
  public func publishers(of origin: NotificationOrigin) -> [Int64] {
    (entries[origin.bundleId.exact] ?? []).filter { $0.apps.accepts(origin) }.map(\.publisherId)
  }
}
