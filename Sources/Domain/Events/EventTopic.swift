/// The topics of the events that webhooks deliver.
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
  /// iaptic's: a customer's purchases changed, or were verified again.
  public static let purchasesUpdated = "purchases.updated"
  /// Mbaasy's: a purchase became known.
  public static let inAppPurchaseCreated = "in_app_purchase.created"
  /// Mbaasy's: a known purchase changed.
  public static let inAppPurchaseUpdated = "in_app_purchase.updated"
  /// Cleeng's, StoreKit 1: a payment was verified.
  public static let validationSucceeded = "inappPurchaseValidationSucceeded"
  /// Cleeng's, StoreKit 1: a payment was refused.
  public static let validationFailed = "inappPurchaseValidationFailed"
  /// Cleeng's, StoreKit 1: a customer's subscription began.
  public static let subscriptionCreated = "subscriptionCreated"
  /// Cleeng's, StoreKit 1: a customer's subscription ended, or moved to another customer.
  public static let subscriptionTerminated = "subscriptionTerminated"
  /// Every topic that an endpoint can have.
  public static let all = [
    synchronizationResult, entitlementsChanged, purchaseUpdated, refundRequested, consentRescinded,
    externalPurchaseTokenDue, webhookEndpointDisabled, purchasesUpdated, inAppPurchaseCreated, inAppPurchaseUpdated,
    validationSucceeded, validationFailed, subscriptionCreated, subscriptionTerminated,
  ]
  /// The rule for an endpoint's topics, as the text of a mistake.
  public static let expectation = "expected a list of \(all.joined(separator: ", ")), none of them twice"
}
