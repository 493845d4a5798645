import Crypto
import Domain
import HTTP
import RoleSupport
import TestSupport
import Testing

@testable import AppStore
@testable import AppleCalls

/// What Apple's answers about an order mean, by value.
struct OrderReplyTests {
  private static let now: Int64 = 1_720_000_000_000

  static func app(
    _ bundleId: BundleId = "com.example", _ environments: [Environment] = [.production, .sandbox],
    isReleased: Bool = true
  ) throws -> Publisher.App {
    Publisher.App(
      bundleId: bundleId, appAppleId: 5, issuerId: "i", keyId: "k", privateKey: try .generate(),
      environments: environments, isReleased: isReleased)
  }

  private func reply(_ kind: AppStoreAPIError.Kind, isReleased: Bool = true) throws -> OrderReply {
    let obstacle = OrderReply.obstacle(kind, for: try Self.app(isReleased: isReleased), now: Self.now)
    return obstacle.map { .failed($0) } ?? .unknown
  }

  @Test func `each failure has a meaning`() throws {
    #expect(try reply(.unauthorized) == .failed(.keyRefused("com.example")))
    #expect(try reply(.unauthorized, isReleased: false) == .unknown)
    for code in [AppStoreErrorCode.invalidAppIdentifier, .appNotFound] {
      #expect(try reply(.api(code)) == .failed(.keyRefused("com.example")))
    }
    #expect(try reply(.api(.generalBadRequest)) == .unknown)
    #expect(try reply(.rateLimited(retryAfterMilliseconds: Self.now + 3000)) == .failed(.busy(.seconds(3))))
    #expect(try reply(.rateLimited(retryAfterMilliseconds: nil)) == .failed(.busy(.seconds(1))))
    #expect(try reply(.rateLimited(retryAfterMilliseconds: 1)) == .failed(.busy(.milliseconds(1))))
    #expect(try reply(.malformedAnswer) == .failed(.unverified("com.example")))
    let away: [AppStoreAPIError.Kind] = [
      .api(.generalInternal), .api(AppStoreErrorCode(rawValue: 9_990_000)), .http(502), .invalidRequest("x"),
      .transport(HTTPClientError(code: .timeout, target: "t", cause: "c")),
    ]
    for kind in away { #expect(try reply(kind) == .failed(.away("com.example")), "\(kind)") }
  }

  @Test func `an app that could not be asked may have the order`() {
    let (found, away) = (OrderReply.found("a", []), OrderReply.failed(.away("b")))
    #expect(OrderReply.joined([]) == .unknown)
    #expect(OrderReply.joined([.unknown, .unknown]) == .unknown)
    #expect(OrderReply.joined([.unknown, away, .unknown]) == away)
    #expect(OrderReply.joined([.failed(.busy(.seconds(1))), away]) == .failed(.busy(.seconds(1))))
    #expect(OrderReply.joined([away, .unknown, found]) == found)
  }

  // MARK: A successful answer

  private let authority: TestAuthority

  init() throws { authority = try TestAuthority() }

  private func signed(
    _ id: TransactionId = "101", by other: TestAuthority? = nil, _ change: (inout TransactionPayload) -> Void = { _ in }
  ) throws -> String {
    var payload = TransactionPayload()
    payload.transactionId = id
    payload.originalTransactionId = "100"
    payload.bundleId = "com.example"
    payload.productId = "monthly"
    payload.type = .autoRenewable
    payload.environment = .production
    payload.purchaseDate = Self.now
    payload.signedDate = TestAuthority.signedDate
    change(&payload)
    return try (other ?? authority).sign(payload)
  }

  private func reply(_ status: OrderLookupResponse.Status, _ signed: [String]) throws -> OrderReply {
    try OrderAnswer.reply(OrderLookupResponse(status, signed), for: Self.app(), try authority.verifier())
  }

  @Test func `an order has its verified transactions, each once`() throws {
    guard case .found(let app, let transactions) = try reply(.valid, [signed(), signed("102"), signed()]) else {
      Issue.record("no order")
      return
    }
    #expect(app == "com.example" && transactions.map(\.transactionId) == ["101", "102"])
    #expect(transactions.first?.productId == "monthly" && transactions.first?.purchaseDate == Self.now)
    #expect(try reply(.valid, []) == .found("com.example", []))
    // Nobody reads what stands beside the word that there is no order.
    #expect(try reply(.invalid, ["not signed"]) == .unknown)
  }

  @Test func `one transaction that is refused spoils the answer`() throws {
    let forged = try signed(by: TestAuthority())
    let wrong = [
      try signed { $0.bundleId = "com.other" }, try signed { $0.environment = .sandbox },
      try signed { $0.type = nil }, try signed { $0.purchaseDate = nil }, try signed { $0.purchaseDate = -1 },
      try signed { $0.storefront = String(repeating: "x", count: 600) }, forged, "", "a.b.c",
    ]
    for text in wrong {
      #expect(throws: AnswerDefect.self) { try reply(.valid, [signed("102"), text]) }
    }
    #expect(throws: AnswerDefect.self) { try reply(OrderLookupResponse.Status(rawValue: 2), []) }
  }
}
