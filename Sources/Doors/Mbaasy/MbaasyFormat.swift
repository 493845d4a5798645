import Crypto
import Domain
import JSON

extension WebhookEndpoint.Format {
  /// The `data` of `in_app_purchase.created` and `.updated` with `X-SHA256-Digest`, as Mbaasy sends.
  static let mbaasy = Self(
    "mbaasy", topics: [EventTopic.inAppPurchaseCreated, EventTopic.inAppPurchaseUpdated]
  ) { content, key in
    let body = json(of: content)
    guard let key else { return WebhookPayload(body: body) }
    let digest = Hex.encode(HMACSHA256.authenticate(body, key: key))
    return WebhookPayload(body: body, headers: [.init(name: "X-SHA256-Digest", value: digest)])
  }

  /// A test event is an update of nothing.
  private static func json(of content: WebhookContent) -> [UInt8] {
    switch content {
    case .body(let data): return data
    case .test(let id, let time):
      return JSONWriter.object { update in
        update.member("id", MbaasyIdentifier.event(id))
        update.member("type", "in_app_purchase")
        update.member("name", EventTopic.inAppPurchaseUpdated)
        for name: StaticString in ["data", "previous_attributes", "new_attributes"] { update.member(name) { _ in } }
        update.member("created_at", MbaasyValue.time(time))
      }
    }
  }
}
