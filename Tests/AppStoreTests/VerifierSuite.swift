import Domain
import FoundationEssentials
import TestSupport

@testable import AppStore

/// What the tests of the verifier sign: data that it accepts, unless a test changes it.
protocol VerifierSuite {}

extension VerifierSuite {
  var apps: AcceptedApps { AcceptedApps([AcceptedApps.App(bundleId: "com.example", appAppleId: 1234)]) }

  func transaction(_ change: (inout TransactionPayload) -> Void = { _ in }) -> TransactionPayload {
    var payload = TransactionPayload()
    payload.transactionId = "2"
    payload.originalTransactionId = "1"
    payload.bundleId = "com.example"
    payload.environment = .sandbox
    payload.signedDate = TestAuthority.signedDate
    change(&payload)
    return payload
  }

  func renewalInfo(of purchase: OriginalTransactionId = "1", in environment: Environment = .sandbox)
    -> RenewalInfoPayload
  {
    var payload = RenewalInfoPayload()
    payload.originalTransactionId = purchase
    payload.autoRenewStatus = .on
    payload.environment = environment
    payload.signedDate = TestAuthority.signedDate
    return payload
  }

  func notification(_ change: (inout NotificationPayload) -> Void = { _ in }) -> NotificationPayload {
    var payload = NotificationPayload()
    payload.notificationType = .didRenew
    payload.notificationUUID = "00000000-0000-4000-8000-000000000001"
    payload.signedDate = TestAuthority.signedDate
    var data = NotificationData()
    data.bundleId = "com.example"
    data.environment = .sandbox
    payload.data = data
    change(&payload)
    return payload
  }

  func encoded(_ payload: some Encodable) throws -> Data { try JSONEncoder().encode(payload) }
}
