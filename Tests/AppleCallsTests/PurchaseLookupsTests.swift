import Coordination
import Crypto
import Domain
import EventLoop
import Observability
import RoleSupport
import TestSupport
import Testing

@testable import AppStore
@testable import AppleCalls

/// Which calls are made about a purchase, out of which budgets.
@LoopActor
struct PurchaseLookupsTests {
  /// What Apple answers to a call.
  enum Said<Body> {
    case success(Body)
    case failure(AppStoreAPIError.Kind)
  }

  /// Apple and the budgets, by value.
  @LoopActor
  final class Apple {
    var statuses: Said<SubscriptionStatusesResponse>
    var transaction: Said<TransactionInfoResponse> = .failure(.http(500))
    /// The budgets that are used up.
    var spent: Set<String> = []
    var isStoreAway = false
    private(set) var asked: [String] = []
    private(set) var taken: [CallPlace] = []
    private(set) var pauses: [String: Duration] = [:]
    struct Away: Error {}

    init(_ statuses: SubscriptionStatusesResponse) { self.statuses = .success(statuses) }

    func answer<Body>(
      _ said: Said<Body>, _ endpoint: AppStoreEndpoint, _ id: TransactionId, _ environment: Environment
    ) throws(AppStoreAPIError) -> AppStoreAnswer<Body> {
      asked.append("\(endpoint.rawValue) \(id) \(environment)")
      switch said {
      case .success(let body): return AppStoreAnswer(body: body)
      case .failure(let kind): throw AppStoreAPIError(kind, endpoint: endpoint)
      }
    }

    func take(_ place: CallPlace) throws -> CallAnswer {
      if isStoreAway { throw Away() }
      taken.append(place)
      let endpoint = place.budgets[0].endpoint
      return spent.contains(endpoint)
        ? .wait(.milliseconds(70)) : .granted(CallPermit(place: place.name, endpoint: endpoint))
    }

    func pause(_ place: CallPlace, _ endpoint: AppStoreEndpoint, _ time: Duration) throws {
      if isStoreAway { throw Away() }
      pauses["\(place.name)|\(endpoint.rawValue)"] = time
    }
  }

  private nonisolated static let now = PurchaseAnswerTests.now
  private let authority: TestAuthority
  private let apple: Apple
  private let metrics = Metrics()

  init() throws {
    authority = try TestAuthority()
    apple = Apple(
      PurchaseAnswerTests.statuses(
        try authority.sign(PurchaseAnswerTests.transaction("105")), try authority.sign(PurchaseAnswerTests.renewal())))
  }

  private func purchase(
    _ kind: ProductKind = .autoRenewable, in environment: Environment = .production, of bundle: BundleId = "com.example"
  ) throws -> Purchase {
    let facts = TransactionFacts(
      transactionId: "101", originalTransactionId: "100", bundleId: bundle, productId: "monthly", kind: kind,
      environment: environment, purchaseDate: Self.now - 5000, signedDate: Self.now - 5000, payloadSHA256: [1])
    let key = PurchaseKey(publisherId: 7, environment: environment, originalTransactionId: "100")
    return try #require(Purchase(key, transactions: [facts]))
  }

  private func ask(_ purchase: Purchase? = nil) async throws -> PurchaseReply {
    let calls = AwaitedCalls(
      AwaitedCalls.Dependencies(
        takeCall: { [apple] place, urgency in
          // Customers wait for the jobs that share the budget.
          #expect(urgency == .later)
          return try apple.take(place)
        }, pause: { [apple] in try apple.pause($0, $1, $2) },
        budgetScale: 0.5, now: { Self.now }), [.subscriptionStatuses, .transactionInfo], metrics,
      Log(level: .error, [:]))
    let lookups = PurchaseLookups(
      calls, try authority.verifier(),
      PurchaseLookups.Asking(
        statuses: { [apple] id, environment, _ throws(AppStoreAPIError) in
          try apple.answer(apple.statuses, .subscriptionStatuses, id, environment)
        },
        transaction: { [apple] id, environment, _ throws(AppStoreAPIError) in
          try apple.answer(apple.transaction, .transactionInfo, id, environment)
        }))
    return try await lookups.ask(about: try purchase ?? self.purchase(), with: try OrderReplyTests.app())
  }

  private func setTransaction(_ change: (inout TransactionPayload) -> Void = { _ in }) throws {
    apple.transaction = .success(
      TransactionInfoResponse(
        signedTransactionInfo: try authority.sign(PurchaseAnswerTests.transaction("101", change))))
  }

  @Test func `a subscription is one call for the customer's subscriptions`() async throws {
    guard case .told(let evidence) = try await ask() else {
      Issue.record("nothing is told")
      return
    }
    #expect(evidence.count == 2)
    #expect(apple.asked == ["subscription-statuses 101 Production"])
    // The name and the rate of the workers' budget.
    #expect(apple.taken.map(\.name) == ["com.example|Production"])
    #expect(apple.taken.map(\.budgets) == [[CallBudget(endpoint: "subscription-statuses", perSecond: 25)]])
    let labels = #"{endpoint="subscription-statuses",environment="Production",outcome="ok"}"#
    #expect(metrics.text().contains("countersign_apple_call_duration_seconds_count\(labels) 1"))
  }

  @Test func `any other product is one call for its transaction`() async throws {
    try setTransaction {
      ($0.type, $0.environment, $0.expiresDate) = (.nonConsumable, .sandbox, nil)
    }
    guard case .told(let evidence) = try await ask(purchase(.nonConsumable, in: .sandbox)) else {
      Issue.record("nothing is told")
      return
    }
    #expect(evidence.count == 1 && apple.asked == ["transaction-info 101 Sandbox"])
    #expect(apple.taken.map(\.budgets) == [[CallBudget(endpoint: "transaction-info", perSecond: 2.5)]])
  }

  @Test func `a subscription that the statuses do not name is asked about by its transaction`() async throws {
    try setTransaction { $0.expiresDate = Self.now - 1 }
    apple.statuses = .success(SubscriptionStatusesResponse(data: []))
    guard case .told(let evidence) = try await ask() else {
      Issue.record("nothing is told")
      return
    }
    #expect(evidence.count == 1)
    #expect(apple.asked == ["subscription-statuses 101 Production", "transaction-info 101 Production"])
    // Without the statuses, nobody knows what came after a period that is over.
    apple.statuses = .failure(.api(.transactionIdNotFound))
    #expect(try await ask() == .failed(.unverified("com.example")))
    apple.transaction = .failure(.api(.transactionIdNotFound))
    #expect(try await ask() == .unknown)
    apple.spent = ["transaction-info"]
    #expect(try await ask() == .failed(.busy(.milliseconds(70))))
  }

  @Test func `an empty budget makes no call`() async throws {
    apple.spent = ["subscription-statuses"]
    #expect(try await ask() == .failed(.busy(.milliseconds(70))))
    #expect(apple.asked.isEmpty && apple.pauses.isEmpty)
  }

  @Test func `a 429 stops the whole fleet`() async throws {
    apple.statuses = .failure(.rateLimited(retryAfterMilliseconds: Self.now + 5000))
    #expect(try await ask() == .failed(.busy(.seconds(5))))
    #expect(apple.pauses == ["com.example|Production|subscription-statuses": .seconds(5)])
    #expect(apple.asked.count == 1 && metrics.text().contains(#"outcome="rate_limited"} 1"#))
  }

  @Test func `other failures end the question, and pause nobody`() async throws {
    let failures: [(AppStoreAPIError.Kind, AppleObstacle)] = [
      (.unauthorized, .keyRefused("com.example")), (.http(500), .away("com.example")),
      (.malformedAnswer, .unverified("com.example")),
    ]
    for (kind, obstacle) in failures {
      apple.statuses = .failure(kind)
      #expect(try await ask() == .failed(obstacle))
      apple.transaction = .failure(kind)
      #expect(try await ask(purchase(.consumable)) == .failed(obstacle))
    }
    #expect(apple.pauses.isEmpty && apple.asked.count == 2 * failures.count)
    apple.statuses = .success(PurchaseAnswerTests.statuses("forged", nil))
    #expect(try await ask() == .failed(.unverified("com.example")))
    apple.transaction = .success(TransactionInfoResponse(signedTransactionInfo: "forged"))
    #expect(try await ask(purchase(.consumable)) == .failed(.unverified("com.example")))
  }

  @Test func `without the store nothing is asked`() async throws {
    apple.isStoreAway = true
    await #expect(throws: Apple.Away.self) { try await ask() }
    #expect(apple.asked.isEmpty)
  }

  @Test func `the app of the purchase asks, where Apple has a server`() throws {
    let apps = try [
      OrderReplyTests.app("com.other"), OrderReplyTests.app("com.example", [.sandbox]),
      OrderReplyTests.app("com.example", [.production, .xcode]),
    ]
    let publisher = Publisher(
      id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: apps, offers: OfferCatalog([]), webhooks: [])
    func environments(_ purchase: Purchase) -> [Environment]? {
      PurchaseLookups.app(for: purchase, of: publisher)?.environments
    }
    #expect(try environments(purchase()) == [.production, .xcode])
    #expect(try environments(purchase(in: .sandbox)) == [.sandbox])
    #expect(try environments(purchase(in: .xcode)) == nil)
    #expect(try environments(purchase(of: "com.third")) == nil)
    #expect(try environments(purchase(in: .sandbox, of: "com.other")) == [.production, .sandbox])
  }
}
