public import AppStore
public import Configuration
public import Coordination
public import Domain
public import EventLoop
public import HTTP2
public import Observability

/// Asks Apple which transactions an order has, for a person who has only the id in Apple's receipt.
///
/// It tells what Apple says, and changes nothing: it grants no access, and registers no purchase. Each call comes out
/// of the fleet's budget for the app, which the look-ups of all roles share.
@LoopActor
public final class OrderLookups {
  /// What a look-up needs of others.
  struct Dependencies {
    let ask: @LoopActor (OrderId, AppCredentials) async throws(AppStoreAPIError) -> AppStoreAnswer<OrderLookupResponse>
    let takeCall: @LoopActor (CallPlace) async throws -> CallAnswer
    let pause: @LoopActor (CallPlace, Duration) async throws -> Void
    let verifier: SignedDataVerifier
    /// The fleet's budget, as a factor of Apple's limit.
    let budgetScale: Double
    /// Milliseconds since 1970.
    let now: @Sendable () -> Int64
  }

  private static let endpoint = AppStoreEndpoint.orderLookup
  /// How many calls a second all roles together may make for an app.
  ///
  /// - Parameter scale: the fleet's budget, as a factor of Apple's limit.
  public static func callsPerSecond(_ scale: Double) -> Double { endpoint.callsPerSecond(in: .production) * scale }

  /// A person waits, so a call has no longer.
  private static let longestCall = Duration.seconds(10)

  private let dependencies: Dependencies
  private let log: Log
  private let calls: Histogram

  init(_ dependencies: Dependencies, _ metrics: Metrics, _ log: Log) {
    (self.dependencies, self.log) = (dependencies, log)
    calls = metrics.histogram(
      "countersign_apple_call_duration_seconds", "Calls to Apple.", labels: ["endpoint", "environment", "outcome"],
      known: [[Self.endpoint.rawValue, Environment.production.text, "ok"]])
  }

  /// Creates it over a client for Apple and the fleet's budgets.
  public convenience init(
    _ settings: AppStoreSettings, _ apple: HTTP2Client, _ budgets: CallBudgets, _ verifier: SignedDataVerifier,
    _ metrics: Metrics, _ log: Log, now: @escaping @Sendable () -> Int64
  ) {
    var configuration = AppStoreServerAPI.Configuration(settings)
    configuration.timeout = min(configuration.timeout, Self.longestCall)
    let api = AppStoreServerAPI(configuration, client: apple, now: now)
    self.init(
      Dependencies(
        ask: { id, app throws(AppStoreAPIError) in try await api.lookUpOrder(id, for: app) },
        takeCall: { try await budgets.takeCall($0, only: Self.endpoint.rawValue, .awaited) },
        pause: { try await budgets.pause($0, Self.endpoint.rawValue, for: $1) }, verifier: verifier,
        budgetScale: settings.budgetScale, now: now), metrics, log)
  }

  /// The apps of a publisher that may have orders: Apple looks them up in production only.
  public nonisolated static func apps(of publisher: Publisher) -> [Publisher.App] {
    publisher.apps.filter { $0.environments.contains(.production) }
  }

  /// Asks about an order in the publisher's apps, one after the other, until one has it or Apple does not answer.
  ///
  /// - Throws: `RedisError` if the budget cannot be asked.
  public func find(_ orderId: OrderId, of publisher: Publisher) async throws -> OrderReply {
    var replies: [OrderReply] = []
    for app in Self.apps(of: publisher) {
      let reply = try await find(orderId, in: app)
      replies.append(reply)
      if case .found = reply { break }
      // All apps have one Apple. The next one would hold the caller, and its connection, as long again.
      if case .failed(.away) = reply { break }
    }
    return .joined(replies)
  }

  private func find(_ orderId: OrderId, in app: Publisher.App) async throws -> OrderReply {
    let perSecond = Self.callsPerSecond(dependencies.budgetScale)
    let place = CallPlace(
      bundleId: app.bundleId, environment: .production,
      budgets: [CallBudget(endpoint: Self.endpoint.rawValue, perSecond: perSecond)])
    if case .wait(let wait) = try await dependencies.takeCall(place) { return .failed(.busy(wait)) }
    let credentials = AppCredentials(app)
    let start = ContinuousClock.now
    do throws(AppStoreAPIError) {
      let answer = try await dependencies.ask(orderId, credentials)
      observe(start, "ok")
      return judge(answer, for: app)
    } catch {
      observe(start, error.label)
      return await judge(error, for: app, at: place)
    }
  }

  private func judge(_ answer: AppStoreAnswer<OrderLookupResponse>, for app: Publisher.App) -> OrderReply {
    do throws(OrderDefect) {
      return try OrderAnswer.reply(answer.body, for: app, dependencies.verifier)
    } catch {
      log.error(
        "Apple's answer about an order was refused",
        [
          "app": .string(app.bundleId.text), "cause": .failure(error),
          "correlation": .text(answer.correlation.label),
        ])
      return .failed(.unverified(app.bundleId))
    }
  }

  private func judge(_ error: AppStoreAPIError, for app: Publisher.App, at place: CallPlace) async -> OrderReply {
    let reply = OrderReply.of(error, for: app, now: dependencies.now())
    let fields: KeyValuePairs<String, Log.Value> = [
      "endpoint": .string(error.endpoint.rawValue), "app": .string(app.bundleId.text), "cause": .failure(error),
      "correlation": .text(error.correlation.label),
    ]
    if case .failed(.keyRefused) = reply {
      log.error("Apple refused the key", fields)
    } else {
      log.info("Apple call failed", fields)
    }
    if case .rateLimited = error.kind, case .failed(.busy(let wait)) = reply {
      do {
        try await dependencies.pause(place, wait)
      } catch {
        log.warning("pause failed", ["cause": .failure(error)])
      }
    }
    return reply
  }

  private func observe(_ start: ContinuousClock.Instant, _ outcome: String) {
    calls.observe(
      (ContinuousClock.now - start).inSeconds, Self.endpoint.rawValue, Environment.production.text, outcome)
  }
}
