import Coordination
import Domain
import EventLoop
import TestSupport
import Testing

@testable import AppStore
@testable import Worker

/// The proof in Apple's signed answers about a purchase, branch by branch.
@LoopActor
struct VerificationProofTests {
  private let now = AppleByValue.now
  private let day = AppleByValue.day

  /// What a purchase says that decides about access.
  private struct Description: Equatable {
    var kind = ProductKind.autoRenewable
    var originalTransactionId: OriginalTransactionId = "100"
    var productId: ProductId = "monthly"
    var environment: Environment = "Production"
    var purchaseDate = AppleByValue.now - AppleByValue.day
    var expiresDate: Int64? = AppleByValue.now + AppleByValue.day
    var graceExpiresDate: Int64?
    var revocationDate: Int64?
    var isReportedRevoked = false
  }

  /// The description of an attempt's purchase; `nil` unless it is verified.
  private func description(_ made: PurchaseVerification.Attempt) -> Description? {
    guard made.result == .verified, let purchase = made.purchase else { return nil }
    let deciding = purchase.deciding
    return Description(
      kind: deciding.kind, originalTransactionId: purchase.key.originalTransactionId, productId: deciding.productId,
      environment: purchase.key.environment, purchaseDate: deciding.purchaseDate, expiresDate: deciding.expiresDate,
      graceExpiresDate: purchase.presentRenewal?.graceExpiresDate, revocationDate: deciding.revocationDate,
      isReportedRevoked: purchase.isReportedRevoked)
  }

  /// The active subscription that ``AppleByValue`` signs.
  private func subscription(_ change: (inout Description) -> Void = { _ in }) -> Description {
    var subscription = Description()
    change(&subscription)
    return subscription
  }

  // MARK: Enough alone

  @Test func `an active subscription takes one call`() async throws {
    let apple = try AppleByValue()
    apple.answers[.info(.production)] = .info(try apple.signed())
    let made = try await apple.find()
    #expect(description(made) == subscription())
    #expect(made.route == AppleRoute(place: "com.example|Production"))
    #expect(made.isFresh)
    #expect(apple.calls == [.info(.production)])
  }

  @Test(arguments: [
    (ProductType.nonConsumable, ProductKind.nonConsumable), (.consumable, .consumable),
    (.nonRenewing, .nonRenewing),
  ])
  func `what is no subscription takes one call, also when it was refunded`(
    type: ProductType, kind: ProductKind
  ) async throws {
    for revoked in [nil, now - 1] {
      let apple = try AppleByValue()
      apple.answers[.info(.production)] = .info(
        try apple.signed { ($0.type, $0.expiresDate, $0.revocationDate) = (type, nil, revoked) })
      let made = try await apple.find()
      #expect(
        description(made) == subscription { ($0.kind, $0.expiresDate, $0.revocationDate) = (kind, nil, revoked) })
      // The statuses never know such a purchase.
      #expect(made.route == AppleRoute(place: "com.example|Production", endpoint: "transaction-info"))
      #expect(apple.calls == [.info(.production)])
    }
  }

  // MARK: Doubtful alone

  @Test func `an expired subscription is asked about, and counts by its latest transaction`() async throws {
    let apple = try AppleByValue()
    apple.answers[.info(.production)] = .info(try apple.signed { $0.expiresDate = now })
    apple.answers[.statuses(.production)] = try apple.status(.active, latest: apple.signed("101"))
    let renewed = try await apple.find()
    #expect(description(renewed) == subscription())
    #expect(renewed.isFresh)
    #expect(apple.calls == [.info(.production), .statuses(.production)])
    apple.answers[.statuses(.production)] = try apple.status(
      .expired, latest: apple.signed { $0.expiresDate = now })
    #expect(description(try await apple.find()) == subscription { $0.expiresDate = now })
  }

  @Test func `an upgraded transaction gives what the upgrade gives, and nothing while Apple does not tell`()
    async throws
  {
    let apple = try AppleByValue()
    apple.answers[.info(.production)] = .info(try apple.signed { $0.isUpgraded = true })
    apple.answers[.statuses(.production)] = try apple.status(
      .active, latest: apple.signed("101") { $0.productId = "yearly" })
    #expect(description(try await apple.find()) == subscription { $0.productId = "yearly" })
    // Without an entry, with another's entry, with an entry without a transaction, and without any subscription.
    let silent: [AppleByValue.Answer] = [
      .http(200, "{\"data\":[]}"), try apple.status(.active, of: "7", latest: apple.signed("8", of: "7")),
      try apple.status(.active, latest: nil), .code(.transactionIdNotFound), .code(.originalTransactionIdNotFound),
    ]
    for answer in silent {
      apple.answers[.statuses(.production)] = answer
      let made = try await apple.find()
      #expect(made.result == .failed(.tryLater))
      #expect(made.route == AppleRoute(place: "com.example|Production", original: "100"))
    }
  }

  @Test func `a revoked subscription is revoked, whether the signed date or the unsigned status says so`() async throws
  {
    let apple = try AppleByValue()
    let revoked = try apple.signed { $0.revocationDate = now - 5 }
    apple.answers[.info(.production)] = .info(revoked)
    apple.answers[.statuses(.production)] = try apple.status(.revoked, latest: revoked, renewal: apple.renewal())
    #expect(
      description(try await apple.find())
        == subscription { ($0.revocationDate, $0.isReportedRevoked) = (now - 5, true) })
    // The statuses name no subscription: the signed transaction decides.
    apple.answers[.statuses(.production)] = .http(200, "{\"data\":[]}")
    #expect(description(try await apple.find()) == subscription { $0.revocationDate = now - 5 })
    // Only the status says so. It can take access away.
    apple.answers[.info(.production)] = .info(try apple.signed { $0.expiresDate = now - 1 })
    apple.answers[.statuses(.production)] = try apple.status(
      .revoked, latest: apple.signed(), renewal: apple.renewal())
    #expect(description(try await apple.find()) == subscription { $0.isReportedRevoked = true })
    // The status cannot give access: an "active" beside an expired transaction is an expired one.
    apple.answers[.statuses(.production)] = try apple.status(
      .active, latest: apple.signed { $0.expiresDate = now - 1 })
    #expect(description(try await apple.find()) == subscription { $0.expiresDate = now - 1 })
  }

  /// The status takes its date from the renewal info. Without that nobody can tell whether it is news.
  @Test func `a status of revoked without renewal info is asked for again`() async throws {
    let apple = try AppleByValue()
    apple.answers[.info(.production)] = .info(try apple.signed { $0.expiresDate = now - 1 })
    apple.answers[.statuses(.production)] = try apple.status(.revoked, latest: apple.signed())
    #expect(try await apple.find().result == .failed(.tryLater))
  }

  @Test func `an expired subscription without any statuses is asked about again`() async throws {
    let apple = try AppleByValue()
    apple.answers[.info(.production)] = .info(try apple.signed { $0.expiresDate = now })
    // Apple has just signed the subscription, so its "unknown" proves nothing. An empty list is an answer.
    apple.answers[.statuses(.production)] = .code(.transactionIdNotFound)
    #expect(try await apple.find().result == .failed(.tryLater))
    apple.answers[.statuses(.production)] = .http(200, "{\"data\":[]}")
    #expect(description(try await apple.find()) == subscription { $0.expiresDate = now })
  }

  @Test func `a grace period counts by its own signature`() async throws {
    let apple = try AppleByValue()
    let expired = try apple.signed { $0.expiresDate = now - 1 }
    apple.answers[.info(.production)] = .info(expired)
    let grace = try apple.renewal(graceUntil: now + 5)
    apple.answers[.statuses(.production)] = try apple.status(.gracePeriod, latest: expired, renewal: grace)
    #expect(
      description(try await apple.find())
        == subscription { ($0.expiresDate, $0.graceExpiresDate) = (now - 1, now + 5) })
    // The renewal info of another purchase, and a changed one.
    for wrong in [try apple.renewal(of: "7", graceUntil: now + 5), grace.dropLast(4) + "AAAA"] {
      apple.answers[.statuses(.production)] = try apple.status(
        .gracePeriod, latest: expired, renewal: String(wrong))
      #expect(try await apple.find().result == .rejected(.verificationFailed))
    }
  }

  // MARK: The statuses first

  @Test func `statuses that name the transaction are enough, and others lead to the transaction`() async throws {
    let apple = try AppleByValue()
    apple.spent = [.info(.production)]
    apple.answers[.statuses(.production)] = try apple.status(.active, latest: apple.signed("101"))
    #expect(description(try await apple.find()) == subscription())
    // They name it as the latest transaction, and another one as the original.
    apple.answers[.statuses(.production)] = try apple.status(.active, of: "7", latest: apple.signed("100", of: "7"))
    #expect(description(try await apple.find()) == subscription { $0.originalTransactionId = "7" })
    #expect(apple.calls == [.statuses(.production), .statuses(.production)])
    // The claim of an unverified text only chooses the entry.
    apple.answers[.statuses(.production)] = try apple.status(
      .active, of: "7", latest: apple.signed("100", of: "7", by: TestAuthority()))
    #expect(try await apple.find().result == .rejected(.verificationFailed))
    apple.answers[.statuses(.production)] = try apple.status(.active, latest: apple.signed("101", of: "7"))
    #expect(try await apple.find().result == .rejected(.verificationFailed))
  }

  @Test func `what the statuses have said in this run is not asked for again`() async throws {
    let grant = CallPermit(place: "com.example|Production", endpoint: "subscription-statuses")
    // They know of no subscription, or not yet of the one that the upgrade made.
    for answer in [.code(.transactionIdNotFound), AppleByValue.Answer.http(200, "{\"data\":[]}")] {
      let apple = try AppleByValue()
      apple.answers[.statuses(.production)] = answer
      apple.answers[.info(.production)] = .info(try apple.signed { $0.isUpgraded = true })
      #expect(try await apple.find(grant: grant).result == .failed(.tryLater))
      #expect(apple.calls == [.statuses(.production), .info(.production)])
    }
  }

  // MARK: Refused

  @Test func `data of another app, another environment or another signer gives nothing`() async throws {
    let apple = try AppleByValue()
    let good = try apple.signed()
    let cases: [(signed: String, result: ResultCode)] = [
      (try apple.signed { $0.bundleId = "com.other" }, .appMismatch),
      (try apple.signed { $0.bundleId = nil }, .appMismatch),
      (try apple.signed(in: .sandbox), .verificationFailed), (try apple.signed(in: .xcode), .verificationFailed),
      (try apple.signed(by: TestAuthority()), .verificationFailed),
      (String(good.dropLast(4)) + "AAAA", .verificationFailed), ("a.b.c", .verificationFailed),
    ]
    for (signed, result) in cases {
      apple.answers[.info(.production)] = .info(signed)
      #expect(try await apple.find().result == .rejected(result))
      // The same holds for the latest transaction.
      apple.answers[.info(.production)] = .info(try apple.signed { $0.expiresDate = now })
      apple.answers[.statuses(.production)] = try apple.status(.active, latest: signed)
      #expect(try await apple.find().result == .rejected(result))
    }
    #expect(apple.counts("countersign_rejections_total{reason=\"bundle_id_mismatch\"} 4"))
    apple.answers[.info(.production)] = .info("")
    #expect(try await apple.find().result == .rejected(.verificationFailed))
    // An empty latest transaction is none: the registered one counts, which has ended.
    apple.answers[.info(.production)] = .info(try apple.signed { $0.expiresDate = now })
    for none in ["", nil] {
      apple.answers[.statuses(.production)] = try apple.status(.active, latest: none)
      let found = try await apple.find()
      #expect(found.result == .verified && found.evidence.count == 1)
    }
  }

  @Test func `an answer about another transaction, or one that lacks what decides, gives nothing`() async throws {
    let apple = try AppleByValue()
    let answers = [
      try apple.signed("101"), try apple.signed { $0.originalTransactionId = nil },
      try apple.signed { $0.productId = nil }, try apple.signed { $0.purchaseDate = nil },
      try apple.signed { $0.type = nil }, try apple.signed { $0.type = ProductType(rawValue: "Rental") },
    ]
    for answer in answers {
      apple.answers[.info(.production)] = .info(answer)
      #expect(try await apple.find().result == .rejected(.verificationFailed))
    }
    #expect(apple.counts("countersign_rejections_total{reason=\"answer_mismatch\"} 6"))
  }
}
