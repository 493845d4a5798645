import AppStore
import AppleCalls
import Configuration
import Domain
import EventLoop
import HTTP2

/// `countersign test-notification`: asks Apple to post a test to the URL in App Store Connect, and reports what it saw.
enum TestNotificationCommand {
  static let command = Command(
    name: "test-notification", summary: "asks Apple to post a test notification, and reports whether it arrived",
    synopsis: "--app BUNDLE_ID [--environment production|sandbox] [--publisher ID] --config FILE",
    options: [
      CommandOption("--app BUNDLE_ID", "the app"),
      CommandOption("--environment NAME", "production (the default) or sandbox: App Store Connect has a URL for each"),
      CommandOption(
        "--publisher ID",
        "the publisher whose key to use; the default is the one with the lowest id that has the app"),
      .configuration,
    ],
    notes: "Exits with 0 if Apple got an answer from 200 to 206, 1 if not, and 3 if Apple has not tried yet.", run: run)
  /// How long the command waits for Apple's first attempt.
  private static let seconds: Int64 = 90

  @LoopActor
  static func run(_ arguments: [String]) async -> Int32 {
    do {
      let options = try TestNotificationOptions(arguments)
      let configuration = try LoadedConfiguration(options.rest, command: "test-notification")
      let found = try options.app(in: configuration.publishers)
      let app = found.app
      print("asking Apple for a test of \(app.bundleId) (\(options.environment), publisher \(found.publisherId))")
      return await test(app, options.environment, configuration.settings)
    } catch {
      complain("\(error)")
      return 2
    }
  }

  @LoopActor
  private static func test(
    _ app: Publisher.App, _ environment: Environment, _ settings: Settings
  ) async -> Int32 {
    let client = HTTP2Client(settings.appStore)
    defer { client.close() }
    let api = AppStoreServerAPI(AppStoreServerAPI.Configuration(settings.appStore), client: client)
    let credentials = AppCredentials(app)
    do throws(AppStoreAPIError) {
      let asked = try await api.requestTestNotification(in: environment, for: credentials).body
      guard let token = asked.testNotificationToken, !token.isEmpty else {
        throw AppStoreAPIError(.malformedAnswer, endpoint: .testNotification)
      }
      guard let attempt = try await attempt(token, api, environment, credentials, settings.appStore) else {
        complain("Apple has not tried to post it within \(seconds) seconds; try again later")
        return 3
      }
      return tell(attempt)
    } catch {
      complain("Apple did not take the request: \(error)\(TestNotificationWords.advice(error))")
      return 1
    }
  }

  /// Asks until Apple has tried to post the test.
  @LoopActor
  private static func attempt(
    _ token: String, _ api: AppStoreServerAPI, _ environment: Environment, _ credentials: AppCredentials,
    _ settings: AppStoreSettings
  ) async throws(AppStoreAPIError) -> SentNotification.SendAttempt? {
    let end = ContinuousClock.now + .seconds(seconds)
    let rate = AppStoreEndpoint.testNotificationStatus.callsPerSecond(in: environment) * settings.budgetScale
    // The calls do not go through the fleet's budget, so they stay below it.
    let pause = Duration.seconds(min(max(2 / rate, 0.2), 20))
    while .now + pause < end {
      guard (try? await EventLoop.sleep(for: pause)) != nil else { return nil }
      do throws(AppStoreAPIError) {
        let status = try await api.testNotificationStatus(token, in: environment, for: credentials).body
        if let last = status.sendAttempts?.last { return last }
      } catch {
        guard error.code == .testNotificationNotFound else { throw error }
      }
    }
    return nil
  }

  private static func tell(_ attempt: SentNotification.SendAttempt) -> Int32 {
    let result = attempt.sendAttemptResult ?? "no result"
    guard TestNotificationWords.isSuccess(result) else {
      complain(
        "the URL in App Store Connect does not work: Apple saw \(result)\(TestNotificationWords.meaning(of: result))")
      return 1
    }
    print("ok: Apple posted the test and got a good answer (SUCCESS)")
    return 0
  }
}
