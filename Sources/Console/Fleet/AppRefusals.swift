import Coordination
import Domain

/// Which apps' keys Apple refuses, as the workers tell that are not silent.
struct AppRefusals: Sendable {
  /// How many workers tell.
  let workers: Int
  private let told: [FleetBeat.RefusedApp]
  /// Whether a worker knows of more than it tells.
  private let hasMore: Bool

  /// That of an app in one environment.
  struct Refusal: Equatable, Sendable {
    let environment: Environment
    /// The earliest that a worker tells, in milliseconds since 1970.
    let since: Int64
    /// What Apple said.
    let cause: String
    /// How many workers tell it.
    let workers: Int
  }

  /// - Parameter beats: what the processes have told last.
  init(_ beats: [FleetBeat]) {
    let lists = beats.filter { !$0.isSilent }.compactMap(\.refusedApps)
    (workers, told) = (lists.count, lists.flatMap(\.self))
    hasMore = beats.contains { !$0.isSilent && $0.hasMoreRefusedApps }
  }

  /// The refusals of an app's key, in the order of its environments.
  func of(_ app: Publisher.App, of publisher: PublisherId) -> [Refusal] {
    let own = told.filter { $0.publisherId == publisher && $0.bundleId == app.bundleId }
    return app.environments.compactMap { environment in
      let here = own.filter { $0.environment == environment }
      return here.min { $0.since < $1.since }.map {
        Refusal(environment: environment, since: $0.since, cause: $0.cause, workers: here.count)
      }
    }
  }

  /// Whether Apple refuses an app's key, for people. Who may act reads the cause too.
  func html(_ app: Publisher.App, of publisher: PublisherId, _ view: ConsoleView) -> HTML {
    guard workers > 0 else { return .span("no worker reports", class: "none") }
    let refusals = of(app, of: publisher)
    guard !refusals.isEmpty else {
      let words = hasMore ? "not reported: Apple refuses the keys of very many apps" : "no refusal is known"
      return .span(words, class: "none")
    }
    return .all(
      refusals.map { refusal in
        .element(
          .div, [],
          [
            .span("refused", class: "mark bad"), .text(" in \(refusal.environment) since "), view.clock(refusal.since),
            .text(refusal.workers < workers ? ", as \(refusal.workers) of \(workers) workers say" : ""),
            .text(view.person.role.acts ? ": \(refusal.cause)" : ""),
          ])
      })
  }
}
