/// The topics of the events that webhooks deliver.
public enum EventTopic {
  /// A synchronization was finalized.
  public static let synchronizationResult = "inappPurchaseSyncResult"
  /// A customer's access to an offer changed.
  public static let entitlementsChanged = "entitlementsChanged"
  /// An endpoint was disabled.
  public static let webhookEndpointDisabled = "webhookEndpointDisabled"
  /// A publisher asked for an event, to see whether an endpoint works. It goes to that endpoint alone.
  public static let test = "test"
  /// Every topic that an endpoint can have.
  public static let all = [synchronizationResult, entitlementsChanged, webhookEndpointDisabled]
  /// The rule for an endpoint's topics, as the text of a mistake.
  public static let expectation = "expected a list of \(all.joined(separator: ", ")), none of them twice"
}
