import Crypto
import Domain
import Formats
import JSON
import Ledger

/// The request body of an event, in the endpoint's format.
///
/// The events of a vendor's door have the vendor's body as their `data`, and the notifier posts just that in the
/// vendor's format. If a format has no shape for an event, such as the one about a disabled endpoint, the notifier
/// posts the event unchanged.
struct WebhookPayload: Equatable {
  let body: [UInt8]
  /// The headers of the format. The headers of Standard Webhooks come in addition.
  var headers: [Header] = []

  /// A header field.
  struct Header: Equatable {
    let name: String
    let value: String
  }

  /// Makes the payload of a delivery.
  ///
  /// - Parameter keys: the endpoint's keys that sign now, the newest first.
  init(_ delivery: Delivery, _ endpoint: WebhookEndpoint, keys: [[UInt8]]) {
    // The private half of a key is no password, and no key of a digest.
    let key = endpoint.signature == .v1 ? keys.first : nil
    switch (endpoint.format, EventContent(delivery, endpoint.format)) {
    case (.cleeng, _), (_, nil):
      body = delivery.body
    case (.fovea, let content?):
      body = Self.fovea(content, password: key.map { WebhookSecret.text($0, .fovea) })
    case (.mbaasy, let content?):
      body = Self.mbaasy(content, delivery)
      guard let key else { return }
      headers = [Header(name: "X-SHA256-Digest", value: Hex.encode(HMACSHA256.authenticate(body, key: key)))]
    }
  }

  /// The body of Fovea.Billing (iaptic), which has the account's secret in it.
  private static func fovea(_ content: EventContent, password: String?) -> [UInt8] {
    switch content {
    case .test:
      return JSONWriter.object { test in
        test.member("type", "test")
        test.member("password", password)
      }
    case .body(let data):
      guard let password else { return data }
      let secret = JSONWriter.object { $0.member("password", password) }
      let isEmpty = data.dropFirst().first { $0 > UInt8(ascii: " ") } == UInt8(ascii: "}")
      return secret.dropLast() + (isEmpty ? [] : [UInt8(ascii: ",")]) + data.dropFirst()
    }
  }

  /// The body of Mbaasy. A test event is an update of nothing.
  private static func mbaasy(_ content: EventContent, _ delivery: Delivery) -> [UInt8] {
    switch content {
    case .body(let data): return data
    case .test:
      return JSONWriter.object { update in
        update.member("id", MbaasyIdentifier.event(delivery.eventId))
        update.member("type", "in_app_purchase")
        update.member("name", EventTopic.inAppPurchaseUpdated)
        for name: StaticString in ["data", "previous_attributes", "new_attributes"] { update.member(name) { _ in } }
        update.member("created_at", MbaasyValue.time(delivery.time.flatMap(milliseconds(rfc3339:))))
      }
    }
  }
}
