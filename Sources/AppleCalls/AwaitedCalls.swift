public import AppStore
public import Configuration
public import Coordination
import Domain
public import EventLoop
public import Observability

/// Calls to Apple that a person waits for.
///
/// Each call comes out of the fleet's budget, which all roles share, and is measured. If Apple answers 429, no role
/// makes the next call to the endpoint before the time that Apple names.
@LoopActor
public final class AwaitedCalls {
  /// What the calls need of others.
  struct Dependencies {
    /// Takes a call out of the only budget of a place.
    let takeCall: @LoopActor (CallPlace, CallUrgency) async throws -> CallAnswer
    let pause: @LoopActor (CallPlace, AppStoreEndpoint, Duration) async throws -> Void
    /// The fleet's budget, as a factor of Apple's limit.
    let budgetScale: Double
    /// Milliseconds since 1970.
    let now: @Sendable () -> Int64
  }

  /// What Apple says to a call.
  enum Reply<Body: Sendable>: Sendable {
    case answered(AppStoreAnswer<Body>)
    /// Apple does not know what was asked about.
    case unknown
    case failed(AppleObstacle)
  }

  private let dependencies: Dependencies
  private let log: Log
  private let calls: Histogram

  init(_ dependencies: Dependencies, _ endpoints: [AppStoreEndpoint], _ metrics: Metrics, _ log: Log) {
    (self.dependencies, self.log) = (dependencies, log)
    calls = metrics.histogram(
      "countersign_apple_call_duration_seconds", "Calls to Apple.", labels: ["endpoint", "environment", "outcome"],
      known: endpoints.map { [$0.rawValue, Environment.production.text, "ok"] })
  }

  /// Creates the calls of a role, once: they have one histogram.
  ///
  /// - Parameters:
  ///   - endpoints: what the role may call.
  ///   - now: milliseconds since 1970.
  public convenience init(
    _ settings: AppStoreSettings, _ budgets: CallBudgets, _ endpoints: [AppStoreEndpoint], _ metrics: Metrics,
    _ log: Log, now: @escaping @Sendable () -> Int64
  ) {
    self.init(
      Dependencies(
        takeCall: { try await budgets.takeCall($0, $1) },
        pause: { try await budgets.pause($0, $1.rawValue, for: $2) }, budgetScale: settings.budgetScale, now: now),
      endpoints, metrics, log)
  }

  /// Milliseconds since 1970.
  var now: Int64 { dependencies.now() }

  /// Takes a call out of the budget, and makes it.
  ///
  /// - Parameters:
  ///   - urgency: how the call stands beside the jobs that wait for the same budget.
  ///   - call: makes the call with the app's key.
  ///   - meaning: what a failure means at a time, in milliseconds since 1970; `nil` if Apple does not know what was
  ///     asked about.
  /// - Throws: `RedisError` if the budget cannot be asked.
  func make<Body: Sendable>(
    _ endpoint: AppStoreEndpoint, for app: Publisher.App, in environment: Environment, _ urgency: CallUrgency,
    call: @LoopActor (AppCredentials) async throws(AppStoreAPIError) -> AppStoreAnswer<Body>,
    meaning: @LoopActor (AppStoreAPIError, Int64) -> AppleObstacle?
  ) async throws -> Reply<Body> {
    let place = CallPlace(app.bundleId, in: environment, [endpoint], budgetScale: dependencies.budgetScale)
    if case .wait(let wait) = try await dependencies.takeCall(place, urgency) { return .failed(.busy(wait)) }
    let credentials = AppCredentials(app)
    let start = ContinuousClock.now
    func observe(_ outcome: String) {
      calls.observe((ContinuousClock.now - start).inSeconds, endpoint.rawValue, environment.text, outcome)
    }
    do throws(AppStoreAPIError) {
      let answer = try await call(credentials)
      observe("ok")
      return .answered(answer)
    } catch {
      observe(error.label)
      let obstacle = meaning(error, now)
      await note(error, obstacle, at: place)
      return obstacle.map { .failed($0) } ?? .unknown
    }
  }

  /// Notes an answer that tells nothing.
  func refused<Body>(
    _ answer: AppStoreAnswer<Body>, _ endpoint: AppStoreEndpoint, for app: Publisher.App, because defect: AnswerDefect
  ) -> AppleObstacle {
    log.error(
      "Apple's answer was refused",
      [
        "endpoint": .string(endpoint.rawValue), "app": .string(app.bundleId.text), "cause": .failure(defect),
        "correlation": .text(answer.correlation.label),
      ])
    return .unverified(app.bundleId)
  }

  private func note(_ error: AppStoreAPIError, _ obstacle: AppleObstacle?, at place: CallPlace) async {
    let fields: KeyValuePairs<String, Log.Value> = [
      "endpoint": .string(error.endpoint.rawValue), "app": .string(place.bundleId.text),
      "environment": .string(place.environment.text), "cause": .failure(error),
      "correlation": .text(error.correlation.label),
    ]
    if case .keyRefused? = obstacle {
      log.error("Apple refused the key", fields)
    } else {
      log.info("Apple call failed", fields)
    }
    guard case .rateLimited = error.kind, case .busy(let wait)? = obstacle else { return }
    do {
      try await dependencies.pause(place, error.endpoint, wait)
    } catch {
      log.warning("pause failed", ["cause": .failure(error)])
    }
  }
}
