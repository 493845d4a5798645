import Domain
import Formats
import Ledger

extension WebhookPayload {
  /// Makes the payload of a delivery.
  ///
  /// - Parameter keys: the endpoint's keys that sign now, the newest first.
  init(_ delivery: Delivery, _ endpoint: WebhookEndpoint, keys: [[UInt8]]) {
    let event = WebhookEvent(
      id: delivery.eventId, topic: delivery.topic, time: delivery.time.flatMap(milliseconds(rfc3339:)),
      body: delivery.body)
    self.init(event, endpoint, keys: keys)
  }
}
