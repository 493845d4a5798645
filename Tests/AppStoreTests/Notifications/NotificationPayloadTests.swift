import Domain
import TestSupport
import Testing

@testable import AppStore

/// Apple's own examples of decoded notifications.
@Suite(
  .enabled(
    if: Fixtures.hasApples, Comment(rawValue: Fixtures.withoutApples("the fields of Apple's example notifications"))))
struct NotificationPayloadTests {
  private func payload(_ name: String) throws -> NotificationPayload {
    try Fixtures.apple.decoded("apple/models/\(name).json")
  }

  @Test func `a purchase`() throws {
    let payload = try payload("signedNotification")
    #expect(payload.notificationType == .subscribed && payload.subtype == .initialBuy)
    #expect(payload.notificationUUID == "002e14d5-51f5-4503-b5a8-c3a1af68eb20" && payload.version == "2.0")
    #expect(payload.signedDate == 1_698_148_900_000)
    let data = try #require(payload.data)
    #expect(data.environment == .localTesting && data.appAppleId == 41234 && data.bundleId == "com.example")
    #expect(data.bundleVersion == "1.2.3" && data.status == .active && data.consumptionRequestReason == nil)
    #expect(data.signedTransactionInfo == "signed_transaction_info_value")
    #expect(data.signedRenewalInfo == "signed_renewal_info_value")
  }

  @Test func `a consumption request`() throws {
    let payload = try payload("signedConsumptionRequestNotification")
    #expect(payload.notificationType == .consumptionRequest)
    #expect(payload.data?.consumptionRequestReason == .unintendedPurchase)
  }

  @Test func `a summary`() throws {
    let payload = try payload("signedSummaryNotification")
    #expect(payload.notificationType == .renewalExtension && payload.subtype == .summary && payload.data == nil)
    let summary = try #require(payload.summary)
    #expect(summary.environment == .localTesting && summary.appAppleId == 41234 && summary.bundleId == "com.example")
    #expect(summary.productId == "com.example.product")
    #expect(summary.requestIdentifier == "efb27071-45a4-4aca-9854-2a1e9146f265")
    #expect(summary.storefrontCountryCodes == ["CAN", "USA", "MEX"])
    #expect(summary.succeededCount == 5 && summary.failedCount == 2)
  }

  @Test(arguments: [
    ("signedExternalPurchaseTokenNotification", Environment.production),
    ("signedExternalPurchaseTokenSandboxNotification", .sandbox),
  ])
  func `a token`(name: String, environment: Environment) throws {
    let payload = try payload(name)
    #expect(payload.notificationType == .externalPurchaseToken && payload.subtype == .unreported)
    let token = try #require(payload.externalPurchaseToken)
    #expect(token.externalPurchaseId?.hasSuffix("b2158121-7af9-49d4-9561-1f588205523e") == true)
    #expect(token.tokenCreationDate == 1_698_148_950_000 && token.appAppleId == 55555)
    #expect(token.bundleId == "com.example" && payload.origin.environment == environment)
  }

  @Test func `withdrawn consent`() throws {
    let payload = try payload("signedRescindConsentNotification")
    #expect(payload.notificationType == .rescindConsent)
    let data = try #require(payload.appData)
    #expect(data.appAppleId == 41234 && data.bundleId == "com.example" && data.environment == .localTesting)
    #expect(data.signedAppTransactionInfo == "signed_app_transaction_info_value")
  }
}
