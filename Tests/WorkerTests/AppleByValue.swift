import Coordination
import Crypto
import Domain
import EventLoop
import Formats
import FoundationEssentials
import HTTP
import JSON
import Observability
import RoleSupport
import TestSupport

@testable import AppStore
@testable import Worker

/// Apple, the fleet's budget and the clock of a verification, without a server.
///
/// A test first sets Apple's answers, and afterwards reads which calls the worker made.
@LoopActor
final class AppleByValue: FleetBudget {
  /// A call: the app that asks, its environment and the endpoint.
  struct Question: Hashable {
    var app: BundleId = "com.example"
    let environment: Environment
    let endpoint: AppStoreEndpoint

    static func info(_ environment: Environment, app: BundleId = "com.example") -> Question {
      Question(app: app, environment: environment, endpoint: .transactionInfo)
    }
    static func statuses(_ environment: Environment, app: BundleId = "com.example") -> Question {
      Question(app: app, environment: environment, endpoint: .subscriptionStatuses)
    }
    var place: PlaceName { "\(app)|\(environment)" }
  }

  enum Answer {
    case http(Int, String, retryAfter: String? = nil)
    case failure(HTTPClientError.Code)

    static func info(_ signed: String) -> Answer { .http(200, "{\"signedTransactionInfo\":\"\(signed)\"}") }
    static func code(_ code: AppStoreErrorCode) -> Answer {
      .http(Int(code.rawValue / 10_000), "{\"errorCode\":\(code.rawValue),\"errorMessage\":\"\"}")
    }
    static let refused = Answer.http(401, "")
  }

  struct Lost: Error {}

  nonisolated static let now: Int64 = 1_720_000_000_000
  nonisolated static let day: Int64 = 86_400_000

  let authority: TestAuthority
  private let counted = Metrics()
  private let metrics: WorkerMetrics
  private let key: P256PrivateKey
  /// Apple's answers; every other question gets 4040010, and that for notifications an empty page.
  var answers: [Question: Answer] = [:]
  /// Endpoints whose budget is used up.
  var spent: Set<Question> = []
  /// Whether the store with the budgets is away.
  var isStoreAway = false
  /// How many calls were asked for that nobody waits for.
  private(set) var later = 0
  private(set) var calls: [Question] = []
  private(set) var pauses: [String: Duration] = [:]

  init() throws {
    authority = try TestAuthority()
    key = try .generate()
    metrics = WorkerMetrics(counted)
  }

  /// Whether the worker's metrics have a line.
  func counts(_ line: String) -> Bool { counted.text().contains(line + "\n") }

  // MARK: The budget

  func takeCall(
    _ place: CallPlace, only endpoint: String?, _ urgency: CallUrgency
  ) async throws -> CallAnswer {
    if urgency != .awaited { later += 1 }
    if isStoreAway { throw Lost() }
    for budget in place.budgets where endpoint == nil || endpoint == budget.endpoint {
      if spent.contains(where: { $0.place == place.name && $0.endpoint.rawValue == budget.endpoint }) { continue }
      return .granted(CallPermit(place: place.name, endpoint: budget.endpoint))
    }
    return .wait(.seconds(7))
  }

  func pause(_ place: CallPlace, _ endpoint: String, for duration: Duration) async throws {
    pauses["\(place.name) \(endpoint)"] = duration
    if isStoreAway { throw Lost() }
  }

  // MARK: Apple

  private func answer(_ request: HTTPClientRequest) throws(HTTPClientError) -> HTTPClientResponse {
    let claims = (request.headers.first { $0.name == "Authorization" }?.value ?? "").split(separator: ".")[1]
    let asking = try? JSONText(Base64URL.decode(String(claims)) ?? []).decoded() as JSONValue
    guard case .object(let members)? = asking, case .string(let app)? = members["bid"] else {
      throw HTTPClientError(code: .invalidRequest, target: request.url, cause: "no token")
    }
    let question = Question(
      app: BundleId(app), environment: request.url.hasPrefix("https://production.test/") ? .production : .sandbox,
      endpoint: endpoint(of: request.url))
    calls.append(question)
    let usual = question.endpoint == .notificationHistory ? Answer.http(200, "{}") : .code(.transactionIdNotFound)
    switch answers[question] ?? usual {
    case .http(let status, let body, let retryAfter):
      return HTTPClientResponse(
        status: status, headers: retryAfter.map { [(name: "retry-after", value: $0)] } ?? [], body: Array(body.utf8))
    case .failure(let code): throw HTTPClientError(code: code, target: request.url, cause: "told before")
    }
  }

  private func endpoint(of url: String) -> AppStoreEndpoint {
    if url.contains("/notifications/history") { return .notificationHistory }
    return url.contains("/subscriptions/") ? .subscriptionStatuses : .transactionInfo
  }

  // MARK: What it signs

  /// An active monthly subscription, signed; a test can change it.
  func signed(
    _ id: TransactionId = "100", of original: OriginalTransactionId = "100",
    in environment: Environment = .production,
    by other: TestAuthority? = nil, _ change: (inout TransactionPayload) -> Void = { _ in }
  ) throws -> String {
    var payload = TransactionPayload()
    payload.transactionId = id
    payload.originalTransactionId = original
    payload.bundleId = "com.example"
    payload.productId = "monthly"
    payload.type = .autoRenewable
    payload.environment = environment
    payload.purchaseDate = Self.now - Self.day
    payload.expiresDate = Self.now + Self.day
    payload.signedDate = TestAuthority.signedDate
    change(&payload)
    return try (other ?? authority).sign(payload)
  }

  /// The statuses of one subscription.
  func status(
    _ status: SubscriptionStatus, of original: OriginalTransactionId = "100", latest: String?, renewal: String? = nil
  ) throws -> Answer {
    var entry = SubscriptionStatusesResponse.LastTransaction()
    entry.status = status
    entry.originalTransactionId = original
    entry.signedTransactionInfo = latest
    entry.signedRenewalInfo = renewal
    var group = SubscriptionStatusesResponse.Group()
    group.lastTransactions = [entry]
    let answer = SubscriptionStatusesResponse(data: [group])
    return .http(200, String(decoding: try JSONEncoder().encode(answer), as: UTF8.self))
  }

  /// Renewal information, perhaps with the end of a grace period.
  func renewal(of original: OriginalTransactionId = "100", graceUntil end: Int64? = nil) throws -> String {
    var payload = RenewalInfoPayload()
    payload.originalTransactionId = original
    payload.gracePeriodExpiresDate = end
    payload.environment = .production
    payload.signedDate = TestAuthority.signedDate
    return try authority.sign(payload)
  }

  // MARK: A run

  /// An app of the publisher.
  func app(
    _ bundleId: BundleId = "com.example", environments: [Environment] = ["Production", "Sandbox"],
    isReleased: Bool = true
  ) -> Publisher.App {
    Publisher.App(
      bundleId: bundleId, appAppleId: 5, issuerId: "i", keyId: "k", privateKey: key, environments: environments,
      isReleased: isReleased)
  }

  /// What verifications work with.
  ///
  /// - Parameter later: milliseconds after ``now``.
  func verification(later: Int64 = 0) throws -> PurchaseVerification.Dependencies {
    var configuration = AppStoreServerAPI.Configuration()
    configuration.productionURL = "https://production.test"
    configuration.sandboxURL = "https://sandbox.test"
    let now: @Sendable () -> Int64 = { Self.now + later }
    let api = AppStoreServerAPI(configuration, now: now) { request throws(HTTPClientError) in
      try self.answer(request)
    }
    return PurchaseVerification.Dependencies(
      api: api, verifier: try authority.verifier(), budget: self, now: now, metrics: metrics)
  }

  /// Verifies transaction 100.
  ///
  /// - Parameters:
  ///   - places: the places to ask instead of those of the apps.
  ///   - later: milliseconds after ``now``.
  func find(
    _ apps: [Publisher.App]? = nil, at places: [AppPlace]? = nil, route: AppleRoute? = nil, attempt: Int = 1,
    grant: CallPermit? = nil, later: Int64 = 0
  ) async throws -> PurchaseVerification.Attempt {
    let publisher = Publisher(
      id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: apps ?? [app()], offers: OfferCatalog([]),
      webhooks: [])
    let dependencies = try verification(later: later)
    let job = Job(synchronizationId: "s", publisherId: 7, customerId: "42", transactionId: "100", registeredAt: 0)
    let verification = PurchaseVerification(
      of: job, attempt: attempt, at: places ?? AppPlace.all(of: publisher, budgetScale: 1),
      route: route?.text, grant: grant, with: dependencies, Log(level: .error))
    guard let verification else { throw Lost() }
    return await verification.make()
  }
}
