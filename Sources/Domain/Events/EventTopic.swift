/// What kind of change an event tells. The names here are those of our own events; doors have others
/// (``DoorCatalog/topics``).
public struct EventTopic: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }

  /// A synchronization was finalized.
  public static let synchronizationResult: EventTopic = "inappPurchaseSyncResult"
  /// A customer's access to an offer changed.
  public static let entitlementsChanged: EventTopic = "entitlementsChanged"
  /// A purchase that the ledger knew changed, or a notification brought one.
  public static let purchaseUpdated: EventTopic = "purchaseUpdated"
  /// A customer asked for a refund, and Apple asks about the consumption.
  public static let refundRequested: EventTopic = "refundRequested"
  /// An endpoint was disabled.
  public static let webhookEndpointDisabled: EventTopic = "webhookEndpointDisabled"
  /// A parent withdrew consent to a child's use of the app.
  public static let consentRescinded: EventTopic = "consentRescinded"
  /// A token for purchases outside the App Store must be reported to Apple.
  public static let externalPurchaseTokenDue: EventTopic = "externalPurchaseTokenDue"
  /// A publisher asked for an event, to see whether an endpoint works. It goes to that endpoint alone.
  public static let test: EventTopic = "test"
  /// Our own topics that an endpoint can have. Doors have others (``DoorCatalog/topics``).
  public static let own = [
    synchronizationResult, entitlementsChanged, purchaseUpdated, refundRequested, consentRescinded,
    externalPurchaseTokenDue, webhookEndpointDisabled,
  ]
}
