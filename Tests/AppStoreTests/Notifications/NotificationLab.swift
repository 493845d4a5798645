import Domain
import RoleSupport
import TestSupport

@testable import AppStore

/// Signs notifications with a test authority. Every piece is right until a test changes it.
struct NotificationLab {
  static let uuid: NotificationUUID = "00000000-0000-4000-8000-000000000001"
  static let apps = AcceptedApps([AcceptedApps.App(bundleId: "com.example", appAppleId: 1234)])

  let authority: TestAuthority
  let verifier: SignedDataVerifier

  init() throws {
    authority = try TestAuthority()
    verifier = try authority.verifier()
  }

  func transaction(_ change: (inout TransactionPayload) -> Void = { _ in }) -> TransactionPayload {
    var payload = TransactionPayload()
    payload.transactionId = "2"
    payload.originalTransactionId = "1"
    payload.bundleId = "com.example"
    payload.productId = "monthly"
    payload.type = .autoRenewable
    payload.environment = .sandbox
    payload.purchaseDate = 1_719_000_000_000
    payload.signedDate = TestAuthority.signedDate
    change(&payload)
    return payload
  }

  func renewalInfo(_ change: (inout RenewalInfoPayload) -> Void = { _ in }) -> RenewalInfoPayload {
    var payload = RenewalInfoPayload()
    payload.originalTransactionId = "1"
    payload.autoRenewStatus = .on
    payload.environment = .sandbox
    payload.signedDate = TestAuthority.signedDate - 1
    change(&payload)
    return payload
  }

  func appTransaction(_ change: (inout AppTransactionPayload) -> Void = { _ in }) -> AppTransactionPayload {
    var payload = AppTransactionPayload()
    payload.bundleId = "com.example"
    payload.receiptType = .sandbox
    payload.receiptCreationDate = TestAuthority.signedDate
    payload.appTransactionId = "71134"
    change(&payload)
    return payload
  }

  func notification(_ change: (inout NotificationPayload) -> Void = { _ in }) -> NotificationPayload {
    var payload = NotificationPayload()
    payload.notificationType = .didRenew
    payload.notificationUUID = Self.uuid
    payload.version = "2.0"
    payload.signedDate = TestAuthority.signedDate + 1
    var data = NotificationData()
    data.bundleId = "com.example"
    data.environment = .sandbox
    payload.data = data
    change(&payload)
    return payload
  }

  /// A notification without data, with another body.
  func notification(
    _ type: NotificationType, body: (inout NotificationPayload) -> Void
  ) throws -> Verdict<VerifiedNotification> {
    try verdict(
      notification {
        $0.notificationType = type
        $0.data = nil
        body(&$0)
      })
  }

  func verdict(
    _ payload: NotificationPayload, expecting apps: AcceptedApps = apps
  ) throws -> Verdict<VerifiedNotification> {
    verifier.notification(try authority.sign(payload), expecting: apps)
  }

  /// The verdict on a notification with these texts in it.
  func verdict(
    _ transaction: String?, _ renewalInfo: String? = nil, status: SubscriptionStatus? = nil,
    expecting apps: AcceptedApps = apps
  ) throws -> Verdict<VerifiedNotification> {
    try verdict(
      notification {
        $0.data?.signedTransactionInfo = transaction
        $0.data?.signedRenewalInfo = renewalInfo
        $0.data?.status = status
      }, expecting: apps)
  }
}
