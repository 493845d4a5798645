import Coordination
import Domain
import EventLoop
import Observability
import RoleSupport
import TestSupport
import Testing

@testable import AppStore
@testable import AppleCalls

/// Which apps are asked about an order, out of which budget.
@LoopActor
struct OrderLookupsTests {
  /// Apple and the budgets, by value.
  @LoopActor
  final class Apple {
    /// The answers of apps; every other app knows no order.
    var answers: [BundleId: Result<OrderLookupResponse, AppStoreAPIError>] = [:]
    /// Apps whose budget is used up.
    var spent: Set<BundleId> = []
    var isStoreAway = false
    private(set) var asked: [BundleId] = []
    private(set) var taken: [CallPlace] = []
    private(set) var pauses: [PlaceName: Duration] = [:]
    struct Away: Error {}

    nonisolated init() {}

    func ask(_ app: AppCredentials) throws(AppStoreAPIError) -> AppStoreAnswer<OrderLookupResponse> {
      asked.append(app.bundleId)
      return AppStoreAnswer(body: try (answers[app.bundleId] ?? .success(OrderLookupResponse(.invalid))).get())
    }

    func take(_ place: CallPlace) throws -> CallAnswer {
      if isStoreAway { throw Away() }
      taken.append(place)
      let isSpent = spent.contains { place.name == "\($0)|Production" }
      return isSpent ? .wait(.milliseconds(70)) : .granted(CallPermit(place: place.name, endpoint: "order-lookup"))
    }

    func pause(_ place: CallPlace, _ endpoint: AppStoreEndpoint, _ time: Duration) throws {
      if isStoreAway { throw Away() }
      #expect(endpoint == .orderLookup)
      pauses[place.name] = time
    }
  }

  private nonisolated static let now: Int64 = 1_720_000_000_000
  private let apple = Apple()
  private let metrics = Metrics()

  private func find(_ apps: [Publisher.App]) async throws -> OrderReply {
    let calls = AwaitedCalls(
      AwaitedCalls.Dependencies(
        takeCall: { [apple] place, _ in try apple.take(place) }, pause: { [apple] in try apple.pause($0, $1, $2) },
        budgetScale: 0.5, now: { Self.now }), [.orderLookup], metrics, Log(level: .error, [:]))
    let lookups = OrderLookups(calls, try TestAuthority().verifier()) { [apple] id, app throws(AppStoreAPIError) in
      #expect(id == "M1")
      return try apple.ask(app)
    }
    let publisher = Publisher(
      id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: apps, offers: OfferCatalog([]), webhooks: [])
    return try await lookups.find("M1", of: publisher)
  }

  private func error(_ kind: AppStoreAPIError.Kind) -> Result<OrderLookupResponse, AppStoreAPIError> {
    .failure(AppStoreAPIError(kind, endpoint: .orderLookup))
  }

  @Test func `apps in production are asked until one has the order`() async throws {
    let apps = try [
      OrderReplyTests.app("a"), OrderReplyTests.app("sandbox", [.sandbox]), OrderReplyTests.app("b"),
      OrderReplyTests.app("c"),
    ]
    apple.answers["b"] = .success(OrderLookupResponse(.valid))
    #expect(try await find(apps) == .found("b", []))
    #expect(apple.asked == ["a", "b"])
    #expect(apple.taken.map(\.name) == ["a|Production", "b|Production"])
    let budget = CallBudget(endpoint: "order-lookup", perSecond: 5)
    #expect(apple.taken.map(\.budgets) == [[budget], [budget]])
    let labels = #"{endpoint="order-lookup",environment="Production",outcome="ok"}"#
    #expect(metrics.text().contains("countersign_apple_call_duration_seconds_count\(labels) 2"))
    #expect(try await find([apps[1]]) == .unknown && apple.asked.count == 2)
  }

  @Test func `an empty budget makes no call`() async throws {
    apple.spent = ["a"]
    let apps = try [OrderReplyTests.app("a"), OrderReplyTests.app("b")]
    #expect(try await find(apps) == .failed(.busy(.milliseconds(70))))
    #expect(apple.asked == ["b"] && apple.pauses.isEmpty)
  }

  @Test func `a 429 stops the whole fleet`() async throws {
    apple.answers["a"] = error(.rateLimited(retryAfterMilliseconds: Self.now + 5000))
    #expect(try await find([OrderReplyTests.app("a")]) == .failed(.busy(.seconds(5))))
    #expect(apple.pauses == ["a|Production": .seconds(5)])
    let line = #"outcome="rate_limited"} 1"#
    #expect(metrics.text().contains(line))
  }

  @Test func `while Apple does not answer, it is asked for one app`() async throws {
    apple.answers["a"] = error(.http(500))
    apple.answers["b"] = .success(OrderLookupResponse(.valid))
    let apps = try [OrderReplyTests.app("a"), OrderReplyTests.app("b")]
    #expect(try await find(apps) == .failed(.away("a")))
    #expect(apple.asked == ["a"])
  }

  @Test func `other failures pause nobody`() async throws {
    for kind in [AppStoreAPIError.Kind.unauthorized, .http(500), .malformedAnswer] {
      apple.answers["a"] = error(kind)
      guard case .failed = try await find([OrderReplyTests.app("a")]) else {
        Issue.record("\(kind)")
        continue
      }
    }
    #expect(apple.pauses.isEmpty)
    apple.answers["a"] = .success(OrderLookupResponse(.valid, ["forged"]))
    #expect(try await find([OrderReplyTests.app("a")]) == .failed(.unverified("a")))
  }

  @Test func `without the store nothing is asked`() async throws {
    apple.isStoreAway = true
    let apps = [try OrderReplyTests.app("a")]
    await #expect(throws: Apple.Away.self) { try await find(apps) }
    #expect(apple.asked.isEmpty)
  }
}
