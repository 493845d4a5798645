import Domain
import Testing

@testable import Doors

/// The topics that a webhook endpoint may ask for.
struct TopicTests {
  @Test func `the topics have their vendors' names`() {
    #expect(
      DoorRegistry.catalog.topicsExpectation == """
        expected a list of inappPurchaseSyncResult, entitlementsChanged, purchaseUpdated, refundRequested, \
        consentRescinded, externalPurchaseTokenDue, webhookEndpointDisabled, \
        inappPurchaseValidationSucceeded, inappPurchaseValidationFailed, subscriptionCreated, subscriptionTerminated, \
        purchases.updated, in_app_purchase.created, in_app_purchase.updated, none of them twice
        """)
  }
}
