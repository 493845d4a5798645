/// The topics of the events that webhooks deliver.
public enum EventTopic {
  /// An endpoint was disabled.
  public static let webhookEndpointDisabled = "webhookEndpointDisabled"
  /// All that an endpoint can have.
  public static let all = [PurchaseEvent.topic, webhookEndpointDisabled]
}
