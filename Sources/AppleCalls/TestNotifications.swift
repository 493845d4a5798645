public import AppStore
public import Configuration
public import Coordination
public import Domain
public import EventLoop
public import HTTP2

/// Lets Apple post a test notification to the URL of App Store Connect, and asks what Apple saw.
///
/// The calls come out of the fleet's budgets: one a second for an app in production, one in ten seconds in the sandbox.
@LoopActor
public final class TestNotifications {
  private let api: AppStoreServerAPI
  private let budgets: CallBudgets
  private let budgetScale: Double

  /// What Apple says about a test.
  public enum Answer: Sendable, Equatable {
    /// Apple took the request; the token names the test.
    case asked(token: String)
    /// Apple has not tried to post it yet.
    case waiting
    /// Apple's word for how its last attempt ended, such as `SUCCESS`.
    case tried(String)
    /// The budget is used up for so long.
    case busy(Duration)
    /// Apple refused, or could not be reached: a sentence with what to do.
    case failed(String)
  }

  /// Creates it over a client for Apple and the fleet's budgets.
  public init(
    _ settings: AppStoreSettings, _ apple: HTTP2Client, _ budgets: CallBudgets, now: @escaping @Sendable () -> Int64
  ) {
    api = AppStoreServerAPI(awaited: settings, apple, now: now)
    (self.budgets, budgetScale) = (budgets, settings.budgetScale)
  }

  /// Asks Apple for a test.
  ///
  /// - Throws: `RedisError` if the budget cannot be asked.
  public func request(for app: Publisher.App, in environment: Environment) async throws -> Answer {
    if let busy = try await wait(.testNotification, app, environment) { return busy }
    do throws(AppStoreAPIError) {
      let answer = try await api.requestTestNotification(in: environment, for: AppCredentials(app)).body
      guard let token = answer.testNotificationToken, (1...Self.longestToken).contains(token.utf8.count) else {
        return .failed("Apple's answer has no token.")
      }
      return .asked(token: token)
    } catch {
      return .failed("Apple did not take the request: \(error)\(TestNotificationWords.advice(error)).")
    }
  }

  /// Asks Apple what became of a test.
  ///
  /// - Throws: `RedisError` if the budget cannot be asked.
  public func status(_ token: String, for app: Publisher.App, in environment: Environment) async throws -> Answer {
    if let busy = try await wait(.testNotificationStatus, app, environment) { return busy }
    do throws(AppStoreAPIError) {
      let answer = try await api.testNotificationStatus(token, in: environment, for: AppCredentials(app)).body
      guard let last = answer.sendAttempts?.last else { return .waiting }
      return .tried(last.sendAttemptResult ?? "no result")
    } catch {
      guard error.code != .testNotificationNotFound else { return .waiting }
      return .failed("Apple gives no result: \(error)\(TestNotificationWords.advice(error)).")
    }
  }

  /// No token of Apple's is as long.
  public nonisolated static let longestToken = 256

  private func wait(
    _ endpoint: AppStoreEndpoint, _ app: Publisher.App, _ environment: Environment
  ) async throws -> Answer? {
    let place = CallPlace(app.bundleId, in: environment, [endpoint], budgetScale: budgetScale)
    guard case .wait(let wait) = try await budgets.takeCall(place, .awaited) else { return nil }
    return .busy(wait)
  }
}

/// What Apple's words about a test notification mean for a person.
public enum TestNotificationWords {
  /// What an attempt's result means, behind it; empty if it needs no words.
  public static func meaning(of result: String) -> String {
    switch result {
    case "UNSUCCESSFUL_HTTP_RESPONSE_CODE": ": the answer was not 200; does the URL lead to /apple/notifications?"
    case "NO_RESPONSE", "SOCKET_ISSUE", "TIMED_OUT", "PREMATURE_CLOSE":
      ": no whole answer came; does a firewall or a proxy keep Apple out?"
    case "TLS_ISSUE": ": the certificate or the version of TLS is not good enough for Apple"
    case "CIRCULAR_REDIRECT": ": the URL leads back to itself"
    default: ""
    }
  }

  /// Whether Apple got a good answer.
  public static func isSuccess(_ result: String) -> Bool { result.utf8.elementsEqual("SUCCESS".utf8) }

  /// What to do about a refused call, behind it.
  public static func advice(_ error: AppStoreAPIError) -> String {
    if error.code == .serverNotificationUrlNotFound { return "; App Store Connect has no URL for this environment" }
    if case .unauthorized = error.kind {
      return "; the app's key, keyId or issuerId is wrong, or the app was never released"
    }
    return ""
  }
}
