import Domain
import JSON

extension WebhookEndpoint.Format {
  /// The `data` of `purchases.updated` with `password`, as Fovea.Billing (iaptic) sends.
  static let fovea = Self("fovea", topics: [EventTopic.purchasesUpdated], allowsSelfSigned: true) {
    content, key in
    let password = key.map { String(decoding: $0, as: UTF8.self) }
    switch content {
    case .test:
      return WebhookPayload(
        body: JSONWriter.object { test in
          test.member("type", "test")
          test.member("password", password)
        })
    case .body(let data):
      guard let password else { return WebhookPayload(body: data) }
      // The account's secret stands in the body.
      let secret = JSONWriter.object { $0.member("password", password) }
      let isEmpty = data.dropFirst().first { $0 > UInt8(ascii: " ") } == UInt8(ascii: "}")
      return WebhookPayload(body: secret.dropLast() + (isEmpty ? [] : [UInt8(ascii: ",")]) + data.dropFirst())
    }
  }
}
