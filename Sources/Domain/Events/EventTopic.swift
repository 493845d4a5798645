/// The topics of the events that webhooks deliver.
public enum EventTopic {
  /// An endpoint was disabled.
  public static let webhookEndpointDisabled = "webhookEndpointDisabled"
  /// All that an endpoint can have.
  public static let all = [PurchaseEvent.topic, webhookEndpointDisabled]
  /// What an endpoint's topics must be, for whoever made them something else.
  public static let expectation = "expected a list of \(all.joined(separator: ", ")), none of them twice"
}
