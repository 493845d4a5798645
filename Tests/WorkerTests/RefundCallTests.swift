import Coordination
import Crypto
import Domain
import EventLoop
import HTTP
import Observability
import Testing

@testable import AppStore
@testable import Worker

/// One call about a refund, with its budget.
@LoopActor
struct RefundCallTests {
  /// The fleet's budget, by value.
  @LoopActor
  final class Budget: FleetBudget {
    var answers: [CallAnswer] = []
    var isAway = false
    private(set) var taken: [String] = []
    private(set) var pauses: [String: Duration] = [:]
    struct Away: Error {}

    nonisolated init() {}

    func takeCall(_ place: CallPlace, only endpoint: String?, _: CallUrgency) async throws -> CallAnswer {
      if isAway { throw Away() }
      let budget = place.budgets.first { $0.endpoint == endpoint }?.endpoint ?? "none"
      taken.append("\(place.name) \(budget)")
      return answers.isEmpty ? .granted(CallPermit(place: place.name, endpoint: budget)) : answers.removeFirst()
    }

    func pause(_ place: CallPlace, _ endpoint: String, for duration: Duration) async throws {
      if isAway { throw Away() }
      pauses["\(place.name) \(endpoint)"] = duration
    }
  }

  private let now: Int64 = 1_720_000_000_000
  private let budget = Budget()
  private let metrics = Metrics()

  /// - Parameters:
  ///   - history: the answer to a call without an id.
  ///   - place: the place of an earlier call, whose standing this one knows.
  private func run(
    _ response: HTTPClientResponse?, hasApp: Bool = true, history: HTTPClientResponse? = nil, at place: AppPlace? = nil,
    later: Int64 = 0
  ) async throws -> RefundRequest.CallResult {
    let (now, publisher) = (now + later, try publisher())
    let transport: AppStoreServerAPI.Transport = { request throws(HTTPClientError) in
      let response = request.url.contains("/notifications/history") ? history : response
      guard let response else { throw HTTPClientError(code: .timeout, target: request.url, cause: "test") }
      return response
    }
    let verification = PurchaseVerification.Dependencies(
      api: AppStoreServerAPI(AppStoreServerAPI.Configuration(), now: { now }, transport: transport),
      verifier: SignedDataVerifier(roots: .apple), budget: budget, now: { now },
      metrics: WorkerMetrics(metrics))
    let place = place ?? AppPlace.all(of: publisher, budgetScale: 1)[0]
    let request = RefundRequest(
      id: "r", purchase: PurchaseKey(publisherId: 7, environment: "Production", originalTransactionId: "1"),
      transactionId: "1", bundleId: "com.example", productId: "p", kind: .consumable, customerId: nil, reason: nil,
      requestedAt: now)
    return await RefundCall(
      request: request, answer: ConsumptionAnswer(.delivered, isSampleProvided: false), place: hasApp ? place : nil,
      verification: verification, log: Log(level: .error, [:])
    ).run()
  }

  private func publisher() throws -> Publisher {
    let app = Publisher.App(
      bundleId: "com.example", appAppleId: nil, issuerId: "i", keyId: "k", privateKey: try .generate(),
      environments: ["Production"])
    return Publisher(
      id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [app], offers: OfferCatalog([]),
      webhooks: [])
  }

  private func response(_ status: Int, _ body: String = "", retryAfter: String? = nil) -> HTTPClientResponse {
    HTTPClientResponse(
      status: status, headers: retryAfter.map { [(name: "retry-after", value: $0)] } ?? [], body: Array(body.utf8))
  }

  private func response(code: Int) -> HTTPClientResponse {
    response(code / 10_000, "{\"errorCode\":\(code),\"errorMessage\":\"\"}")
  }

  @Test func `202 is a success, and takes from the endpoint's budget`() async throws {
    #expect(try await run(response(202)) == .sent)
    #expect(budget.taken == ["com.example|Production consumption"])
    #expect(
      metrics.text().contains(
        "countersign_apple_call_duration_seconds_count{endpoint=\"consumption\",environment=\"Production\","
          + "outcome=\"ok\"} 1"))
  }

  @Test func `what Apple will never take is refused, and everything else comes again`() async throws {
    for code in [4_000_047, 4_000_185, 4_000_006, 4_000_000, 4_009_999] {
      guard case .refused = try await run(response(code: code), history: response(200, "{}")) else {
        return #expect(Bool(false), "\(code)")
      }
    }
    for code in [4_040_010, 4_040_006, 5_000_000, 5_000_001, 4_030_004] {
      guard case .failed = try await run(response(code: code)) else { return #expect(Bool(false), "\(code)") }
    }
    #expect(try await run(response(401)) == .failed("unauthorized"))
    #expect(try await run(response(400)) == .failed("http_4xx"))
    #expect(try await run(response(502)) == .failed("http_5xx"))
    #expect(try await run(nil) == .failed("timeout"))
  }

  @Test func `a refused key is told and known as it is for jobs, and ends no request`() async throws {
    for (code, history) in [
      (4_000_002, nil), (4_000_006, response(code: 4_000_006)), (4_000_006, response(401)),
    ] as [(Int, HTTPClientResponse?)] {
      let place = AppPlace.all(of: try publisher(), budgetScale: 1)[0]
      guard case .failed = try await run(response(code: code), history: history, at: place) else {
        return #expect(Bool(false), "\(code)")
      }
      #expect(place.standing.value.refusedSince == now)
      // No call, and no budget taken.
      let taken = budget.taken.count
      #expect(try await run(response(202), at: place, later: 4999) == .postponed("unauthorized", until: now + 9999))
      #expect(budget.taken.count == taken)
      #expect(try await run(response(202), at: place, later: 5000) == .sent)
      #expect(place.standing.value.refusedSince == nil)
    }
    let place = AppPlace.all(of: try publisher(), budgetScale: 1)[0]
    #expect(try await run(response(401), at: place) == .failed("unauthorized"))
    #expect(place.standing.value.refusedSince == now)
    // "Not found" proves the key.
    _ = try await run(response(code: 4_040_010), at: place, later: 5000)
    #expect(place.standing.value.refusedSince == nil)
  }

  @Test func `an id that Apple calls invalid is tried again while nobody knows whether it means the key`() async throws
  {
    let place = AppPlace.all(of: try publisher(), budgetScale: 1)[0]
    #expect(
      try await run(response(code: 4_000_006), history: response(502), at: place)
        == .failed("InvalidTransactionIdError"))
    #expect(place.standing.value.refusedSince == nil)
    // Within seconds after a good answer it means the id, without another call.
    _ = try await run(response(202), at: place)
    guard case .refused = try await run(response(code: 4_000_006), at: place) else {
      return #expect(Bool(false), "the answer is refused")
    }
  }

  @Test func `a 429 stops the fleet's calls`() async throws {
    let limited = response(429, #"{"errorCode":4290000,"errorMessage":""}"#, retryAfter: "\(now + 5000)")
    #expect(try await run(limited) == .postponed("rate_limited", until: now + 5000))
    #expect(budget.pauses == ["com.example|Production consumption": .milliseconds(5000)])
    #expect(try await run(response(429)) == .postponed("rate_limited", until: now + 1000))
  }

  @Test func `without the app there is no call, and a minute's pause`() async throws {
    #expect(try await run(response(202), hasApp: false) == .postponed("no_app", until: now + 60_000))
    #expect(budget.taken.isEmpty)
  }

  @Test func `without budget there is no call, and no wait in which the consent may be withdrawn`() async throws {
    for milliseconds in [Int64(1), 60_000] {
      budget.answers = [.wait(.milliseconds(milliseconds)), .granted(CallPermit(place: "p", endpoint: "e"))]
      #expect(try await run(response(202)) == .postponed("budget", until: now + milliseconds))
      // It was asked once, and did not take what came next.
      #expect(budget.answers.count == 1)
    }
    budget.answers = []
    budget.isAway = true
    #expect(try await run(response(202)) == .postponed("store_unavailable", until: now + 1000))
  }
}
