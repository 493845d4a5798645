import Crypto
import Domain
import HTTP
import RoleSupport
import TestSupport
import Testing

@testable import AppStore
@testable import AppleCalls

/// What Apple's answers about a purchase mean, by value.
struct PurchaseAnswerTests {
  static let now = TestAuthority.signedDate
  static let key = PurchaseKey(publisherId: 7, environment: .production, originalTransactionId: "100")
  private let authority: TestAuthority

  init() throws { authority = try TestAuthority() }

  // MARK: What Apple signs

  static func transaction(
    _ id: TransactionId = "101", _ change: (inout TransactionPayload) -> Void = { _ in }
  ) -> TransactionPayload {
    var payload = TransactionPayload()
    payload.transactionId = id
    payload.originalTransactionId = "100"
    payload.bundleId = "com.example"
    payload.productId = "monthly"
    payload.type = .autoRenewable
    payload.environment = .production
    payload.purchaseDate = now - 1000
    payload.expiresDate = now + 1000
    payload.signedDate = now
    change(&payload)
    return payload
  }

  static func renewal(_ change: (inout RenewalInfoPayload) -> Void = { _ in }) -> RenewalInfoPayload {
    var payload = RenewalInfoPayload()
    payload.originalTransactionId = "100"
    payload.autoRenewProductId = "monthly"
    payload.autoRenewStatus = .on
    payload.environment = .production
    payload.signedDate = now
    change(&payload)
    return payload
  }

  static func statuses(
    _ transaction: String?, _ renewal: String?, _ status: SubscriptionStatus? = .active,
    of original: OriginalTransactionId = "100"
  ) -> SubscriptionStatusesResponse {
    var entry = SubscriptionStatusesResponse.LastTransaction()
    (entry.status, entry.originalTransactionId) = (status, original)
    (entry.signedTransactionInfo, entry.signedRenewalInfo) = (transaction, renewal)
    return SubscriptionStatusesResponse(data: [.init(lastTransactions: nil), .init(lastTransactions: [entry])])
  }

  private func answer(_ key: PurchaseKey = key) throws -> PurchaseAnswer {
    PurchaseAnswer(
      purchase: key, transactionId: "101", app: try OrderReplyTests.app(), verifier: try authority.verifier())
  }

  private func signed(
    _ id: TransactionId = "101", by other: TestAuthority? = nil, _ change: (inout TransactionPayload) -> Void = { _ in }
  ) throws -> String {
    try (other ?? authority).sign(Self.transaction(id, change))
  }

  private func signedRenewal(_ change: (inout RenewalInfoPayload) -> Void = { _ in }) throws -> String {
    try authority.sign(Self.renewal(change))
  }

  // MARK: The statuses

  @Test func `the subscriptions tell the latest transaction and the renewal`() throws {
    let answer = try answer()
    let told = try #require(
      try answer.evidence(Self.statuses(signed("105"), signedRenewal(), .gracePeriod)))
    #expect(told.count == 2 && told.allSatisfy { $0.key(of: 7) == Self.key && $0.source == .serverAPI })
    let purchase = try #require(Purchase(Self.key, folding: told))
    #expect(purchase.deciding.transactionId == "105" && purchase.renewal?.willRenew == true)
    #expect(purchase.status == ReportedStatus(code: 4, date: Self.now))
    // Apple need not sign a renewal info. Then there is no status either.
    let alone = try #require(try answer.evidence(Self.statuses(signed(), nil)))
    #expect(alone.count == 1 && Purchase(Self.key, folding: alone)?.status == nil)
  }

  @Test func `subscriptions that do not name the purchase tell nothing`() throws {
    let answer = try answer()
    #expect(try answer.evidence(SubscriptionStatusesResponse(data: [])) == nil)
    #expect(try answer.evidence(Self.statuses(signed(), nil, of: "200")) == nil)
    #expect(try answer.evidence(Self.statuses(nil, nil)) == nil)
  }

  @Test func `an entry that is refused spoils the answer`() throws {
    let (answer, good) = (try answer(), try signed())
    let transactions = [
      try signed { $0.originalTransactionId = "200" }, try signed { $0.bundleId = "com.other" },
      try signed { $0.environment = .sandbox }, try signed { $0.type = nil }, try signed { $0.expiresDate = -1 },
      try signed(by: TestAuthority()), "", "a.b.c",
    ]
    for text in transactions {
      #expect(throws: AnswerDefect.self) { try answer.evidence(Self.statuses(text, nil)) }
    }
    let renewals = [
      try signedRenewal { $0.originalTransactionId = "200" }, try signedRenewal { $0.environment = .sandbox },
      try signedRenewal { $0.gracePeriodExpiresDate = -1 },
      try TestAuthority().sign(Self.renewal()), good, "",
    ]
    for text in renewals {
      #expect(throws: AnswerDefect.self) { try answer.evidence(Self.statuses(good, text)) }
    }
    // Nobody signed the status, so it has no date without a renewal info.
    #expect(throws: AnswerDefect.self) { try answer.evidence(Self.statuses(good, nil, .revoked)) }
  }

  // MARK: The transaction

  private func told(
    _ signed: String, after statuses: PurchaseAnswer.Statuses = .notAsked
  ) throws -> [TransactionId] {
    let evidence = try answer().evidence(
      TransactionInfoResponse(signedTransactionInfo: signed), after: statuses, now: Self.now)
    return try #require(Purchase(Self.key, folding: evidence)).transactions.keys.sorted()
  }

  @Test func `a transaction tells about a product that does not renew`() throws {
    for kind in [ProductType.nonConsumable, .consumable, .nonRenewing] {
      let refunded = try signed { ($0.type, $0.expiresDate, $0.revocationDate) = (kind, nil, Self.now) }
      #expect(try told(refunded) == ["101"])
    }
    let wrong = [
      try signed("102"), try signed { $0.originalTransactionId = "200" }, try signed { $0.originalTransactionId = nil },
      try signed { $0.bundleId = "com.other" }, try signed { $0.environment = .sandbox },
      try signed(by: TestAuthority()), "",
    ]
    for text in wrong { #expect(throws: AnswerDefect.self) { try told(text) } }
  }

  @Test func `a subscription's transaction tells alone only that it runs`() throws {
    for statuses in [PurchaseAnswer.Statuses.notAsked, .unknown, .withoutPurchase] {
      #expect(try told(signed(), after: statuses) == ["101"])
    }
    let over = [
      try signed { $0.expiresDate = Self.now }, try signed { $0.expiresDate = nil },
      try signed { $0.revocationDate = Self.now - 1 },
    ]
    for text in over {
      #expect(throws: AnswerDefect.self) { try told(text) }
      #expect(throws: AnswerDefect.self) { try told(text, after: .unknown) }
      #expect(try told(text, after: .withoutPurchase) == ["101"])
    }
    // What came after an upgrade, this transaction does not show.
    let upgraded = try signed { $0.isUpgraded = true }
    #expect(throws: AnswerDefect.self) { try told(upgraded, after: .withoutPurchase) }
  }

  @Test func `a purchase of the sandbox is verified as one`() throws {
    let key = PurchaseKey(publisherId: 7, environment: .sandbox, originalTransactionId: "100")
    let tested = try signed { $0.environment = .sandbox }
    #expect(try answer(key).evidence(Self.statuses(tested, nil))?.first?.key(of: 7) == key)
    #expect(throws: AnswerDefect.self) { try answer(key).evidence(Self.statuses(signed(), nil)) }
  }

  // MARK: Failures

  @Test func `each failure has a meaning`() {
    func obstacle(_ kind: AppStoreAPIError.Kind) -> AppleObstacle? {
      PurchaseReply.obstacle(kind, for: "a", now: Self.now)
    }
    for code in [
      AppStoreErrorCode.transactionIdNotFound, .originalTransactionIdNotFound, .invalidOriginalTransactionId,
    ] { #expect(obstacle(.api(code)) == nil) }
    for code in [AppStoreErrorCode.invalidTransactionId, .invalidAppIdentifier, .appNotFound] {
      #expect(obstacle(.api(code)) == .keyRefused("a"))
    }
    #expect(obstacle(.unauthorized) == .keyRefused("a"))
    #expect(obstacle(.rateLimited(retryAfterMilliseconds: Self.now + 3000)) == .busy(.seconds(3)))
    #expect(obstacle(.rateLimited(retryAfterMilliseconds: nil)) == .busy(.seconds(1)))
    #expect(obstacle(.rateLimited(retryAfterMilliseconds: .min)) == .busy(.milliseconds(1)))
    #expect(obstacle(.malformedAnswer) == .unverified("a"))
    let away: [AppStoreAPIError.Kind] = [
      .api(.generalBadRequest), .api(.generalInternal), .api(AppStoreErrorCode(rawValue: 9_990_000)), .http(502),
      .invalidRequest("x"), .transport(HTTPClientError(code: .timeout, target: "t", cause: "c")),
    ]
    for kind in away { #expect(obstacle(kind) == .away("a"), "\(kind)") }
  }
}
