import AppStore
import AppleCalls
import Coordination
import Domain

/// An app of a publisher in one environment: the endpoints to ask, the key to ask with, and the apps that an answer
/// may name.
///
/// An object: every job in flight refers to one.
final class AppPlace: Sendable {
  let publisherId: PublisherId
  let app: Publisher.App
  let environment: Environment
  /// The place by its name in budgets and routes.
  let call: CallPlace
  /// The whole budget of Get Notification History. It has the name of ``call``, but a job must not choose it.
  let history: CallPlace
  /// The whole budget of Send Consumption Information; as ``history``.
  let consumption: CallPlace
  let credentials: AppCredentials
  /// Only this app and this environment. An answer about another one does not answer the question.
  let accepted: AcceptedApps
  /// Whether Apple takes the key here.
  let standing = PlaceStanding()

  private init(_ app: Publisher.App, of publisherId: PublisherId, _ environment: Environment, budgetScale: Double) {
    self.publisherId = publisherId
    self.app = app
    self.environment = environment
    func place(_ endpoints: [AppStoreEndpoint]) -> CallPlace {
      CallPlace(app.bundleId, in: environment, endpoints, budgetScale: budgetScale)
    }
    call = place(PurchaseVerification.endpoints)
    history = place([.notificationHistory])
    consumption = place([.consumption])
    credentials = AppCredentials(app)
    accepted = AcceptedApps([
      .init(bundleId: app.bundleId, appAppleId: app.appAppleId, environments: [environment])
    ])
  }

  /// The place as a source of Notification History.
  var source: NotificationSource.Key {
    NotificationSource.Key(publisherId: publisherId, bundleId: app.bundleId, environment: environment)
  }

  /// Whether this is the production of an app that was never released: Apple answers 401.
  var isUnknownToApple: Bool { environment == .production && !app.isReleased }

  /// The places where Apple may know a publisher's transactions, the first choice first: every app in production and
  /// then in the sandbox.
  ///
  /// - Parameter budgetScale: the fleet's budget for each endpoint, as a factor of Apple's limit.
  static func all(of publisher: Publisher, budgetScale: Double) -> [AppPlace] {
    publisher.apps.flatMap { app in
      [Environment.production, .sandbox].filter { app.environments.contains($0) }
        .map { AppPlace(app, of: publisher.id, $0, budgetScale: budgetScale) }
    }
  }
}
