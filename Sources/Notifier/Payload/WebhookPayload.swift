import Crypto
import Domain
import JSON
import Ledger

/// The request body of an event, in the endpoint's format.
///
/// The notifier fills the shapes of other vendors from the event. It leaves out every member that the event does not
/// know. If a format has no shape for an event, such as the one about a disabled endpoint, the notifier posts the event
/// unchanged.
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
    let event = endpoint.format == .cleeng ? nil : EventContent(delivery)
    switch (endpoint.format, event) {
    case (.cleeng, _), (_, nil):
      body = delivery.body
    case (.fovea, let event?):
      // The private half of a key is no password.
      let password = endpoint.signature == .v1 ? keys.first.map { WebhookSecret.text($0, .fovea) } : nil
      body = Self.fovea(event, password: password)
    case (.mbaasy, let event?):
      body = Self.mbaasy(event)
      headers = keys.prefix(endpoint.signature == .v1 ? 1 : 0).map { key in
        Header(name: "X-SHA256-Digest", value: Hex.encode(HMACSHA256.authenticate(body, key: key)))
      }
    }
  }

  /// `purchases.updated` of Fovea.Billing (iaptic). The offer stands in for the product, which the event does not name.
  private static func fovea(_ event: EventContent, password: String?) -> [UInt8] {
    guard !event.isTest else {
      return JSONWriter.object { test in
        test.member("type", "test")
        test.member("password", password)
      }
    }
    let purchaseId = event.data.originalTransactionId.map { "apple:\($0)" }
    let transactionId = event.data.transactionId.map { "apple:\($0)" }
    return JSONWriter.object { update in
      update.member("type", "purchases.updated")
      update.member("password", password)
      update.member("applicationUsername", event.data.customerId)
      update.member("purchases") { purchases in
        guard let product = event.data.offerId else { return }
        purchases.string(product)
        purchases.raw(":")
        purchases.raw(
          JSONWriter.object { purchase in
            purchase.member("productId", product)
            purchase.member("platform", "apple")
            if let isSandbox = event.isSandbox { purchase.member("sandbox", isSandbox) }
            purchase.member("purchaseId", purchaseId)
            purchase.member("transactionId", transactionId)
            if let isExpired = event.isExpired { purchase.member("isExpired", isExpired) }
          })
      }
      update.member("notification") { notification in
        notification.member("reason", event.foveaReason)
        notification.member("id", event.id)
        notification.member("date", event.time)
        notification.member("productId", event.data.offerId)
        notification.member("purchaseId", purchaseId)
        notification.member("transactionId", transactionId)
      }
    }
  }

  /// `in_app_purchase.updated` of Mbaasy. The event does not know the earlier attributes.
  private static func mbaasy(_ event: EventContent) -> [UInt8] {
    func attributes(_ writer: inout JSONWriter) {
      writer.member("product_id", event.data.offerId)
      writer.member("original_transaction_id", event.data.originalTransactionId)
      writer.member("transaction_id", event.data.transactionId)
      writer.member("environment", event.isSandbox.map { $0 ? "sandbox" : "production" })
      writer.member("user_id", event.data.customerId)
      writer.member("result", event.data.result)
      if let access = event.data.accessGranted { writer.member("access_granted", access) }
    }
    return JSONWriter.object { update in
      update.member("id", event.uuid)
      update.member("type", "in_app_purchase")
      update.member("name", "in_app_purchase.updated")
      update.member("data", attributes)
      update.member("previous_attributes") { _ in }
      update.member("new_attributes", attributes)
      update.member("created_at", event.time)
    }
  }
}
