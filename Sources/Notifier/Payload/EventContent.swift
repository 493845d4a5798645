import Domain
import Formats
import JSON
import Ledger

/// The body that an event has in another vendor's format.
enum EventContent {
  /// The event's `data`, which is the vendor's body, as the event has it.
  case body([UInt8])
  /// A publisher asked for an event, to see whether the endpoint works.
  case test

  /// Reads an event; `nil` if the format has no shape for it.
  init?(_ delivery: Delivery, _ format: WebhookEndpoint.Format) {
    // The event itself is of Cleeng's form.
    if format == .cleeng { return nil }
    if delivery.topic.exact == EventTopic.test.exact {
      self = .test
      return
    }
    let topics =
      format == .fovea
      ? [EventTopic.purchasesUpdated] : [EventTopic.inAppPurchaseCreated, EventTopic.inAppPurchaseUpdated]
    guard topics.contains(where: { $0.exact == delivery.topic.exact }),
      let text = try? JSONText(delivery.body, limits: .own), let envelope = try? JSONObject(text),
      let data = envelope.objectText("data")
    else { return nil }
    self = .body(data)
  }
}
