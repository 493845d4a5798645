import Crypto
import Domain
import Formats
import FoundationEssentials
import RoleSupport
import TestSupport
import Testing

@testable import AppStore

/// Notifications that the verifier accepts, and the evidence in them.
struct NotificationTests {
  private let lab: NotificationLab

  init() throws { lab = try NotificationLab() }

  @Test func `a renewal is a transaction and its renewal information`() throws {
    let texts = (try lab.authority.sign(lab.transaction()), try lab.authority.sign(lab.renewalInfo()))
    let outer = lab.notification {
      $0.subtype = .billingRecovery
      $0.data?.signedTransactionInfo = texts.0
      $0.data?.signedRenewalInfo = texts.1
      $0.data?.status = .active
    }
    let text = try lab.authority.sign(outer)
    let verified = try #require(lab.verifier.notification(text, expecting: NotificationLab.apps).payload)
    #expect(verified.payload == outer)
    #expect(verified.uuid == NotificationLab.uuid && verified.signedDate == TestAuthority.signedDate + 1)
    #expect(verified.kind == NotificationKind(.didRenew, .billingRecovery) && verified.kind.reason == .recovered)
    #expect(
      verified.origin == NotificationOrigin(bundleId: "com.example", appAppleId: nil, environment: .sandbox))
    #expect(verified.transaction?.payload == lab.transaction() && verified.renewalInfo?.payload == lab.renewalInfo())
    #expect(verified.appTransaction == nil && verified.defects.isEmpty)
    #expect(
      verified.evidence == [
        try Evidence(try #require(verified.transaction), source: .notification),
        try Evidence(try #require(verified.renewalInfo), status: .active, source: .notification),
      ])
    // What the ledger keeps is what Apple signed.
    #expect(verified.evidence.map(self.text) == [texts.0, texts.1])
    #expect(Base64URL.encode(verified.signed.json) == text.split(separator: ".")[1])
    // Three texts with one chain: the verifier knows one chain afterwards.
    #expect(lab.verifier.signatures.cache.count == 1)
  }

  private func text(of evidence: Evidence) -> String {
    [
      String(decoding: evidence.signedHeader, as: UTF8.self), Base64URL.encode(evidence.payload),
      Base64URL.encode(evidence.signature),
    ].joined(separator: ".")
  }

  /// The notification is newer than the renewal information. The status does not take the notification's date: then the
  /// same facts would make another purchase than they make by way of the Server API.
  @Test(arguments: [nil, SubscriptionStatus.revoked, .gracePeriod, SubscriptionStatus(rawValue: 77)])
  func `the status has the date of the renewal information`(status: SubscriptionStatus?) throws {
    let texts = (try lab.authority.sign(lab.transaction()), try lab.authority.sign(lab.renewalInfo()))
    let verified = try #require(try lab.verdict(texts.0, texts.1, status: status).payload)
    guard case .renewalInfo(_, let reported) = try #require(verified.evidence.last).facts else {
      Issue.record("no renewal information")
      return
    }
    #expect(reported == status.map { ReportedStatus(code: $0.rawValue, date: TestAuthority.signedDate - 1) })
    // Without renewal information it is ignored.
    let alone = try #require(try lab.verdict(texts.0, status: status).payload)
    #expect(alone.evidence == [verified.evidence[0]] && alone.payload.data?.status == status)
  }

  @Test func `renewal information may come alone`() throws {
    let verified = try #require(try lab.verdict(nil, lab.authority.sign(lab.renewalInfo())).payload)
    #expect(verified.transaction == nil && verified.renewalInfo?.payload == lab.renewalInfo())
    #expect(verified.evidence.count == 1 && verified.defects.isEmpty)
  }

  @Test(arguments: ["SOMETHING_NEW", "DID_RENEW"])
  func `unknown types and subtypes are kept`(type: String) throws {
    let payload = lab.notification {
      $0.notificationType = NotificationType(rawValue: type)
      $0.subtype = NotificationSubtype(rawValue: "OF_LATE")
    }
    let verified = try #require(try lab.verdict(payload).payload)
    #expect(verified.kind.description == "\(type)/OF_LATE" && !verified.kind.isKnown)
    #expect(verified.evidence.isEmpty && verified.defects.isEmpty)
  }

  /// Apple writes an empty text where it has nothing to say.
  @Test func `an empty subtype is none`() throws {
    for subtype in [#""subtype":"","#, #""subtype":null,"#, ""] {
      let text = try lab.authority.sign(
        #"{"notificationType":"TEST",\#(subtype)"notificationUUID":"\#(NotificationLab.uuid)","version":"2.0","#
          + #""signedDate":\#(TestAuthority.signedDate),"data":{"bundleId":"com.example","environment":"Sandbox","#
          + #""signedTransactionInfo":"","signedRenewalInfo":"","consumptionRequestReason":""}}"#)
      let verdict = lab.verifier.notification(text, expecting: NotificationLab.apps)
      let verified = try #require(verdict.payload, "\(String(describing: verdict.rejection))")
      #expect(verified.kind == NotificationKind(.test) && verified.payload.subtype == nil)
      #expect(verified.transaction == nil && verified.payload.data?.consumptionRequestReason == nil)
    }
  }

  @Test func `a consumption request keeps its reason`() throws {
    let text = try lab.authority.sign(lab.transaction())
    for reason in ["UNINTENDED_PURCHASE", "BECAUSE"] {
      let payload = lab.notification {
        $0.notificationType = .consumptionRequest
        $0.data?.signedTransactionInfo = text
        $0.data?.consumptionRequestReason = ConsumptionRequestReason(rawValue: reason)
      }
      let verified = try #require(try lab.verdict(payload).payload)
      #expect(verified.payload.data?.consumptionRequestReason?.rawValue == reason)
      #expect(verified.refund?.kind == .asked(reason: reason))
      #expect(verified.refund?.transactionId == "2")
      #expect(verified.refund?.signedDate == verified.signedDate)
    }
  }

  @Test func `only a question and a decision tell about a refund`() throws {
    func refund(_ type: NotificationType, _ text: String? = nil) throws -> RefundNotice.Kind? {
      let transaction = try text ?? lab.authority.sign(lab.transaction())
      let payload = lab.notification {
        $0.notificationType = type
        $0.data?.signedTransactionInfo = transaction.isEmpty ? nil : transaction
      }
      return try #require(lab.verdict(payload).payload).refund?.kind
    }
    #expect(try refund(.consumptionRequest, "") == nil)
    #expect(try refund(.consumptionRequest) == .asked(reason: nil))
    #expect(try refund(.refund) == .decided && refund(.refundDeclined) == .decided)
    #expect(try refund(.refundReversed) == nil && refund(.didRenew) == nil)
  }

  // MARK: Without a purchase

  @Test func `a test has no purchase`() throws {
    let verified = try #require(try lab.verdict(lab.notification { $0.notificationType = .test }).payload)
    #expect(verified.evidence.isEmpty && verified.kind == NotificationKind(.test))
  }

  @Test func `a summary is of its app`() throws {
    let verdict = try lab.notification(.renewalExtension) {
      $0.subtype = .success
      var summary = NotificationSummary()
      summary.bundleId = "com.example"
      summary.appAppleId = 1234
      summary.environment = .production
      summary.failedCount = 2
      $0.summary = summary
    }
    let verified = try #require(verdict.payload)
    #expect(
      verified.origin == NotificationOrigin(bundleId: "com.example", appAppleId: 1234, environment: .production))
    #expect(verified.payload.summary?.failedCount == 2 && verified.evidence.isEmpty)
  }

  @Test(arguments: [("SANDBOX_b2158121", Environment.sandbox), ("b2158121", .production)])
  func `a token's id tells its environment`(id: String, environment: Environment) throws {
    let verdict = try lab.notification(.externalPurchaseToken) {
      $0.subtype = .activeTokenReminder
      var token = ExternalPurchaseToken()
      token.externalPurchaseId = id
      token.tokenType = .services
      token.tokenExpirationDate = 7
      token.bundleId = "com.example"
      token.appAppleId = 1234
      $0.externalPurchaseToken = token
    }
    let verified = try #require(verdict.payload)
    #expect(verified.origin.environment == environment && verified.kind.reason == .tokenDue)
    #expect(verified.payload.externalPurchaseToken?.tokenExpirationDate == 7)
    #expect(
      NotificationNotice(verified, of: 9)
        == NotificationNotice(
          publisherId: 9, uuid: NotificationLab.uuid, subtype: "ACTIVE_TOKEN_REMINDER",
          environment: environment, bundleId: "com.example", signedDate: verified.signedDate,
          kind: .tokenDue(NotificationNotice.Token(id: id, type: "SERVICES", createdAt: nil, expiresAt: 7))))
  }

  @Test func `a token without an id, and any other notification, is no notice`() throws {
    let token = try lab.notification(.externalPurchaseToken) {
      var token = ExternalPurchaseToken()
      token.bundleId = "com.example"
      token.appAppleId = 1234
      $0.externalPurchaseToken = token
    }
    #expect(NotificationNotice(try #require(token.payload), of: 9) == nil)
    let renewal = try lab.verdict(lab.notification())
    #expect(NotificationNotice(try #require(renewal.payload), of: 9) == nil)
  }

  @Test func `withdrawn consent has an app transaction`() throws {
    let text = try lab.authority.sign(lab.appTransaction())
    let verdict = try lab.notification(.rescindConsent) {
      var data = NotificationAppData()
      data.bundleId = "com.example"
      data.environment = .sandbox
      data.signedAppTransactionInfo = text
      $0.appData = data
    }
    let verified = try #require(verdict.payload)
    #expect(verified.appTransaction?.payload == lab.appTransaction())
    #expect(verified.evidence.isEmpty && verified.kind.reason == .consentRescinded)
    #expect(
      NotificationNotice(verified, of: 9)
        == NotificationNotice(
          publisherId: 9, uuid: NotificationLab.uuid, environment: "Sandbox", bundleId: "com.example",
          signedDate: verified.signedDate,
          kind: .consentRescinded(appTransactionId: "71134")))
  }

  @Test func `the transaction names the purchase, or else the renewal information`() throws {
    let id = try #require(lab.transaction().originalTransactionId)
    let transaction = try lab.authority.sign(lab.transaction())
    let renewalInfo = try lab.authority.sign(lab.renewalInfo())
    #expect(try lab.verdict(transaction).payload?.originalTransactionId == id)
    #expect(try lab.verdict(transaction, renewalInfo).payload?.originalTransactionId == id)
    let alone = try #require(try lab.verdict(nil, renewalInfo).payload)
    #expect(alone.originalTransactionId == lab.renewalInfo().originalTransactionId && alone.transaction == nil)
    let about = try #require(try lab.verdict(nil, nil).payload)
    #expect(about.originalTransactionId == nil)
  }

  // MARK: Signed, and yet no evidence

  @Test func `a transaction that cannot decide leaves a notification without evidence`() throws {
    let transaction = try lab.authority.sign(lab.transaction { $0.productId = nil })
    let verified = try #require(try lab.verdict(transaction, lab.authority.sign(lab.renewalInfo())).payload)
    #expect(verified.evidence.isEmpty && verified.defects == [.fieldMissing])
    #expect(verified.transaction != nil && verified.renewalInfo != nil)
  }

  @Test func `renewal information that cannot decide leaves the transaction`() throws {
    let renewalInfo = try lab.authority.sign(lab.renewalInfo { $0.autoRenewProductId = "\0" })
    let verified = try #require(try lab.verdict(lab.authority.sign(lab.transaction()), renewalInfo).payload)
    #expect(verified.evidence.count == 1 && verified.defects == [.textInvalid])
  }
}
