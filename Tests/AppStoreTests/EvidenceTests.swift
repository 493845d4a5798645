import Crypto
import Domain
import RoleSupport
import TestSupport
import Testing

@testable import AppStore

/// Evidence of verified data.
struct EvidenceTests {
  private let lab: NotificationLab
  private let apps = NotificationLab.apps
  private var authority: TestAuthority { lab.authority }
  private var verifier: SignedDataVerifier { lab.verifier }

  init() throws { lab = try NotificationLab() }

  private static let token = "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"

  private var transaction: TransactionPayload { lab.transaction() }
  private var renewalInfo: RenewalInfoPayload { lab.renewalInfo { $0.signedDate = TestAuthority.signedDate } }

  private func facts(_ change: (inout TransactionPayload) -> Void) throws(EvidenceDefect) -> TransactionFacts {
    try TransactionFacts(lab.transaction(change), payloadSHA256: [9])
  }

  private func renewal(_ change: (inout RenewalInfoPayload) -> Void) throws(EvidenceDefect) -> RenewalFacts {
    var payload = renewalInfo
    change(&payload)
    return try RenewalFacts(payload, payloadSHA256: [9])
  }

  /// The text that stands for a piece in the ledger.
  private func text(of evidence: Evidence) -> String {
    [
      String(decoding: evidence.signedHeader, as: UTF8.self), Base64URL.encode(evidence.payload),
      Base64URL.encode(evidence.signature),
    ].joined(separator: ".")
  }

  // MARK: From signed text

  @Test func `a transaction keeps the bytes that Apple signed`() throws {
    for _ in 0..<2 {  // The second time, the verifier knows the chain.
      let signed = try authority.sign(transaction)
      let verified = try #require(verifier.signedTransaction(signed, expecting: apps).payload)
      let evidence = try Evidence(verified, source: .notification)
      #expect(verified.payload == transaction)
      #expect(text(of: evidence) == signed)
      #expect(evidence.source == .notification)
      #expect(evidence.payloadSHA256 == SHA256.hash(verified.json))
      #expect(
        evidence.facts == .transaction(try TransactionFacts(transaction, payloadSHA256: SHA256.hash(verified.json))))
      // What the ledger keeps verifies again.
      #expect(verifier.transaction(text(of: evidence), expecting: apps).payload == transaction)
    }
  }

  @Test func `renewal info keeps its bytes and dates the status`() throws {
    let signed = try authority.sign(renewalInfo)
    let verified = try #require(verifier.signedRenewalInfo(signed, belongingTo: transaction).payload)
    #expect(verified.payload == renewalInfo)
    for status in [nil, SubscriptionStatus.revoked, .active, SubscriptionStatus(rawValue: 77)] {
      let evidence = try Evidence(verified, status: status, source: .serverAPI)
      #expect(text(of: evidence) == signed)
      let reported = status.map { ReportedStatus(code: $0.rawValue, date: TestAuthority.signedDate) }
      let facts = try RenewalFacts(renewalInfo, payloadSHA256: SHA256.hash(verified.json))
      #expect(evidence.facts == .renewalInfo(facts, status: reported))
    }
    #expect(SubscriptionStatus.revoked.rawValue == ReportedStatus.revoked)
  }

  @Test func `data that does not verify is no evidence`() throws {
    let other = try TestAuthority()
    #expect(
      verifier.signedTransaction(try other.sign(transaction), expecting: apps).rejection?.reason == .chainUntrusted)
    #expect(
      verifier.signedTransaction(try authority.sign(transaction), expecting: AcceptedApps([])).rejection != nil)
    var foreign = renewalInfo
    foreign.originalTransactionId = "3"
    #expect(
      verifier.signedRenewalInfo(try authority.sign(foreign), belongingTo: transaction).rejection?.reason == .unrelated)
  }

  // MARK: Facts

  /// Its texts go into events, and Apple's are never so long.
  @Test func `a text of 512 bytes is kept, a longer one is no evidence`() throws {
    let long = String(repeating: "p", count: 512)
    #expect(try facts { $0.productId = ProductId(long) }.productId.text == long)
    #expect(throws: EvidenceDefect.textTooLong) { try facts { $0.productId = ProductId(long + "p") } }
    #expect(throws: EvidenceDefect.textTooLong) { try facts { $0.offerIdentifier = long + "p" } }
    #expect(try renewal { $0.autoRenewProductId = ProductId(long) }.nextProductId?.text == long)
    #expect(throws: EvidenceDefect.textTooLong) { try renewal { $0.autoRenewProductId = ProductId(long + "p") } }
  }

  @Test func `a transaction's facts are all there`() throws {
    let facts = try facts { payload in
      payload.type = .consumable
      payload.expiresDate = 1
      payload.revocationDate = 2
      payload.revocationReason = .appIssue
      payload.isUpgraded = true
      payload.inAppOwnershipType = .familyShared
      payload.quantity = 3
      payload.price = 9_007_199_254_740_993
      payload.currency = "EUR"
      payload.appAccountToken = Self.token
      payload.appTransactionId = "704"
    }
    #expect(
      facts
        == TransactionFacts(
          transactionId: "2", originalTransactionId: "1", bundleId: "com.example", productId: "monthly",
          kind: .consumable, environment: "Sandbox", purchaseDate: 1_719_000_000_000, expiresDate: 1, revocationDate: 2,
          revocationReason: 1, isUpgraded: true, ownershipType: "FAMILY_SHARED", quantity: 3,
          price: 9_007_199_254_740_993, currency: "EUR", appAccountToken: AppAccountToken(Self.token.lowercased()),
          appTransactionId: "704", signedDate: TestAuthority.signedDate, payloadSHA256: [9]))
  }

  @Test func `a transaction needs few facts`() throws {
    let facts = try facts { _ in }
    #expect(
      facts
        == TransactionFacts(
          transactionId: "2", originalTransactionId: "1", bundleId: "com.example", productId: "monthly",
          kind: .autoRenewable, environment: "Sandbox", purchaseDate: 1_719_000_000_000,
          signedDate: TestAuthority.signedDate, payloadSHA256: [9]))
    // A token that is no UUID names nobody.
    #expect(try self.facts { $0.appAccountToken = "customer 42" }.appAccountToken == nil)
  }

  @Test func `each of Apple's types has its kind`() throws {
    for (type, kind) in [
      (ProductType.autoRenewable, ProductKind.autoRenewable), (.nonRenewing, .nonRenewing),
      (.nonConsumable, .nonConsumable), (.consumable, .consumable),
    ] {
      #expect(try facts { $0.type = type }.kind == kind)
    }
    for type in [nil, ProductType(rawValue: "Lease"), ProductType(rawValue: "")] {
      #expect(throws: EvidenceDefect.kindUnknown) { try facts { $0.type = type } }
    }
  }

  @Test func `a transaction that cannot decide is no evidence`() {
    let missing: [(inout TransactionPayload) -> Void] = [
      { $0.transactionId = nil }, { $0.originalTransactionId = nil }, { $0.bundleId = nil }, { $0.productId = nil },
      { $0.environment = nil }, { $0.purchaseDate = nil }, { $0.signedDate = nil },
    ]
    for change in missing { #expect(throws: EvidenceDefect.fieldMissing) { try facts(change) } }
    let outside: [(inout TransactionPayload) -> Void] = [
      { $0.purchaseDate = -1 }, { $0.expiresDate = 253_402_300_800_000 }, { $0.revocationDate = .min },
      { $0.signedDate = .max },
    ]
    for change in outside { #expect(throws: EvidenceDefect.dateOutOfRange) { try facts(change) } }
    let invalid: [(inout TransactionPayload) -> Void] = [
      { $0.transactionId = "\0" }, { $0.originalTransactionId = "1\0" }, { $0.bundleId = "\0" },
      { $0.productId = "\0" },
      { $0.environment = Environment("\0") }, { $0.currency = "\0" },
      { $0.inAppOwnershipType = OwnershipType(rawValue: "\0") },
    ]
    for change in invalid { #expect(throws: EvidenceDefect.textInvalid) { try facts(change) } }
  }

  @Test func `the facts of renewal info are all there`() throws {
    let facts = try renewal { payload in
      payload.autoRenewProductId = "yearly"
      payload.autoRenewStatus = .off
      payload.gracePeriodExpiresDate = 5
      payload.isInBillingRetryPeriod = true
      payload.expirationIntent = .billingError
    }
    #expect(
      facts
        == RenewalFacts(
          originalTransactionId: "1", environment: "Sandbox", willRenew: false, nextProductId: "yearly",
          graceExpiresDate: 5, isInBillingRetry: true, expirationIntent: 2, signedDate: TestAuthority.signedDate,
          payloadSHA256: [9]))
    #expect(try renewal { _ in }.willRenew == true)
    #expect(try renewal { $0.autoRenewStatus = nil }.willRenew == nil)
    #expect(try renewal { $0.autoRenewStatus = AutoRenewStatus(rawValue: 7) }.willRenew == false)
  }

  @Test func `renewal info of no purchase or date is no evidence`() {
    let missing: [(inout RenewalInfoPayload) -> Void] = [
      { $0.originalTransactionId = nil }, { $0.environment = nil }, { $0.signedDate = nil },
    ]
    for change in missing { #expect(throws: EvidenceDefect.renewalFieldMissing) { try renewal(change) } }
    for date in [Int64.min, .max] {
      #expect(throws: EvidenceDefect.dateOutOfRange) { try renewal { $0.gracePeriodExpiresDate = date } }
      #expect(throws: EvidenceDefect.dateOutOfRange) { try renewal { $0.signedDate = date } }
    }
    #expect(throws: EvidenceDefect.textInvalid) { try renewal { $0.autoRenewProductId = "\0" } }
    #expect(throws: EvidenceDefect.textInvalid) { try renewal { $0.originalTransactionId = "\0" } }
  }
}
