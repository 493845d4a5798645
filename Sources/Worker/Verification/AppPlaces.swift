import AppStore
import Configuration
import Coordination
import Domain
import EventLoop
import Formats
import Observability
import Service

/// The places where Apple may know each publisher's transactions, made anew when the publisher's files have changed.
@LoopActor
final class AppPlaces {
  private let context: RoleContext
  private var known: [PublisherId: (publisher: Publisher, places: [AppPlace])] = [:]
  private var revision = -1

  init(_ context: RoleContext) {
    self.context = context
    context.metrics.gauge(
      "countersign_apple_refused_apps", "Apps whose key Apple refuses, as far as this worker knows."
    ) { [weak self] in Double(self?.refused.count ?? 0) }
  }

  /// The places of a publisher.
  func of(_ publisher: Publisher) -> [AppPlace] {
    if revision != context.publishersRevision {
      revision = context.publishersRevision
      known = known.filter { context.publishers[$0.key] === $0.value.publisher }
    }
    if let found = known[publisher.id], found.publisher === publisher { return found.places }
    let places = AppPlace.all(of: publisher, budgetScale: context.settings.appStore.budgetScale)
    known[publisher.id] = (publisher, places)
    return places
  }

  /// A line of `/readyz` about the apps whose key Apple refuses.
  var readiness: [ReadinessCheck] { [ReadinessCheck("apple", isNeeded: false) { [weak self] in self?.trouble }] }

  /// The apps whose key Apple refuses, each in an environment.
  private var refused: [AppPlace] {
    guard revision == context.publishersRevision else { return [] }
    return known.values.flatMap(\.places).filter { $0.standing.value.refusedSince != nil }
  }

  /// The same for the fleet.
  var refusedApps: [FleetBeat.RefusedApp] {
    refused.map { place in
      FleetBeat.RefusedApp(
        place.app.bundleId, of: place.publisherId, in: place.environment,
        since: place.standing.value.refusedSince ?? 0, cause: place.standing.cause)
    }
  }

  /// A sentence for each of them; `nil` if there is none.
  private var trouble: String? {
    let sentences = refused.map { place in
      let since = rfc3339(milliseconds: place.standing.value.refusedSince ?? 0)
      return "Apple refuses the key of \(place.app.bundleId) (publisher \(place.publisherId)) in "
        + "\(place.environment) since \(since): \(place.standing.cause)"
    }
    return sentences.isEmpty ? nil : sentences.sorted().prefix(10).joined(separator: "; ")
  }
}
