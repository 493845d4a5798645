/// The topics of our own events that webhooks deliver.
public enum EventTopic {
  /// A synchronization was finalized.
  public static let synchronizationResult = "inappPurchaseSyncResult"
  /// A customer's access to an offer changed.
  public static let entitlementsChanged = "entitlementsChanged"
  /// A purchase that the ledger knew changed, or a notification brought one.
  public static let purchaseUpdated = "purchaseUpdated"
  /// A customer asked for a refund, and Apple asks about the consumption.
  public static let refundRequested = "refundRequested"
  /// An endpoint was disabled.
  public static let webhookEndpointDisabled = "webhookEndpointDisabled"
  /// A parent withdrew consent to a child's use of the app.
  public static let consentRescinded = "consentRescinded"
  /// A token for purchases outside the App Store must be reported to Apple.
  public static let externalPurchaseTokenDue = "externalPurchaseTokenDue"
  /// A publisher asked for an event, to see whether an endpoint works. It goes to that endpoint alone.
  public static let test = "test"
  /// Our own topics that an endpoint can have. Doors have others (``DoorCatalog/topics``).
  public static let own = [
    synchronizationResult, entitlementsChanged, purchaseUpdated, refundRequested, consentRescinded,
    externalPurchaseTokenDue, webhookEndpointDisabled,
  ]
}
