import Domain
import Testing

@testable import AppStore

/// Which publishers a notification belongs to.
struct PublisherAppsTests {
  private func origin(
    _ bundleId: BundleId = "com.example", _ appAppleId: Int64? = 1234, _ environment: Environment = .production
  ) -> NotificationOrigin {
    NotificationOrigin(bundleId: bundleId, appAppleId: appAppleId, environment: environment)
  }

  private func app(
    _ appAppleId: Int64? = 1234, _ environments: Set<Environment> = [.production, .sandbox],
    bundleId: BundleId = "com.example"
  ) -> AcceptedApps.App {
    AcceptedApps.App(bundleId: bundleId, appAppleId: appAppleId, environments: environments)
  }

  private func publisherApps(_ listed: [(PublisherId, AcceptedApps.App)]) -> PublisherApps {
    PublisherApps(listed.map { PublisherApps.Listed(publisherId: $0.0, $0.1) })
  }

  @Test func `each publisher that lists the app gets it`() {
    let apps = publisherApps([
      (30, app()), (10, app()), (20, app(1234, bundleId: "com.other")),
    ])
    #expect(apps.publishers(of: origin()) == [10, 30])
    #expect(apps.publishers(of: origin("com.other")) == [20])
    #expect(apps.publishers(of: origin("com.third")) == [])
  }

  @Test func `each publisher judges for itself`() {
    let apps = publisherApps([
      (1, app(1234, [.production])), (2, app(1234, [.sandbox])), (3, app(999)), (4, app(nil)),
    ])
    #expect(apps.publishers(of: origin()) == [1])
    #expect(apps.publishers(of: origin("com.example", 999)) == [3])
    #expect(apps.publishers(of: origin("com.example", nil, .sandbox)) == [2, 3, 4])
    #expect(apps.publishers(of: origin("com.example", nil)) == [])
    for origin in [origin(), origin("com.example", 999), origin("com.example", nil, .sandbox)] {
      #expect(apps.accepted.accepts(origin))
    }
    #expect(!apps.accepted.accepts(origin("com.example", nil)))
    #expect(!apps.accepted.accepts(origin("com.example", 1234, .xcode)))
  }

  /// A publisher may have one key for production and another one for the sandbox.
  @Test func `a publisher that lists an app twice gets it once`() {
    let apps = publisherApps([(1, app(1234, [.production])), (1, app(nil, [.sandbox]))])
    #expect(apps.publishers(of: origin()) == [1])
    #expect(apps.publishers(of: origin("com.example", nil, .sandbox)) == [1])
  }

  @Test func `an app is its bytes`() {
    let apps = publisherApps([(1, app(bundleId: "K")), (2, app(bundleId: "\u{212A}"))])
    #expect(apps.publishers(of: origin("K")) == [1])
    #expect(apps.publishers(of: origin("\u{212A}")) == [2])
  }

  /// The wrong id of one publisher must not cost the other its notifications, whichever is listed first.
  @Test func `one publisher's mistake stays its own`() throws {
    let lab = try NotificationLab()
    let payload = lab.notification {
      $0.data?.environment = .production
      $0.data?.appAppleId = 1234
    }
    for listed in [[app(999), app()], [app(), app(999)]] {
      let apps = publisherApps([(7, listed[0]), (8, listed[1])])
      let verified = try #require(try lab.verdict(payload, expecting: apps.accepted).payload)
      #expect(apps.publishers(of: verified.origin) == [listed[0].appAppleId == 1234 ? 7 : 8])
    }
    let wrong = publisherApps([(7, app(999)), (8, app(998))])
    #expect(try lab.verdict(payload, expecting: wrong.accepted).rejection?.reason == .appAppleIdMismatch)
  }

  @Test func `a receipt without an environment needs both`() throws {
    let old = PayloadOrigin(bundleId: "com.example", mayLackEnvironment: true)
    for (entries, isAccepted) in [
      ([app()], true), ([app(1, [.production]), app(nil, [.sandbox])], true), ([app(1, [.production])], false),
    ] {
      let isFine = (try? AcceptedApps(entries).check(old)) != nil
      #expect(isFine == isAccepted)
    }
  }
}
