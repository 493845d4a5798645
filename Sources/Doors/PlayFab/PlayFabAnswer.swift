import Domain
import Formats
import Gateway
import HTTPServer
import JSON

/// One `PurchaseReceiptFulfillment`: an item, and the price that was recorded for it.
struct PlayFabFulfillment: Equatable {
  let item: PlayFabItem
  let price: PlayFabRecordedPrice?
}

/// Answers in PlayFab's envelope `{code, status, data}`.
enum PlayFabAnswer {
  /// The fulfillments of a receipt.
  static func fulfilled(_ fulfillments: [PlayFabFulfillment]) -> HTTPServerResponse {
    jsonResponse(
      200,
      written: JSONWriter.object { json in
        json.member("code", 200)
        json.member("status", "OK")
        json.member("data") { json in
          json.member("Fulfillments", fulfillments) { fulfillment, json in
            json.member("FulfilledItems", [fulfillment.item], write)
            json.member("RecordedPriceSource", fulfillment.price?.source?.rawValue)
            json.member("RecordedTransactionCurrency", fulfillment.price?.currency)
            json.member("RecordedTransactionTotal", fulfillment.price.map { unsigned($0.total) })
          }
        }
      })
  }

  /// An `ItemInstance`.
  private static func write(_ item: PlayFabItem, to json: inout JSONWriter) {
    let price = item.offer.price ?? item.applePrice?.rounded
    json.member("CatalogVersion", item.offer.catalogVersion)
    json.member("DisplayName", item.offer.displayName)
    json.member("Expiration", item.expiration.map(rfc3339))
    json.member("ItemClass", item.offer.itemClass)
    json.member("ItemId", item.productId)
    json.member("ItemInstanceId", item.instanceId)
    json.member("PurchaseDate", rfc3339(milliseconds: item.purchaseDate))
    json.member("RemainingUses", item.uses)
    json.member("UnitCurrency", price?.currency)
    // The only field that is never missing.
    json.member("UnitPrice", unsigned(price?.amount ?? 0))
    json.member("UsesIncrementedBy", item.uses)
  }

  /// The field has 32 bits.
  private static func unsigned(_ amount: Int64) -> Int64 { min(max(amount, 0), Int64(UInt32.max)) }

  /// The mistakes of members: each member with a list of texts.
  static func details(_ details: [PlayFabError.Detail]) -> [UInt8] {
    JSONWriter.object(details.map { ($0.member, JSONWriter.array([JSONWriter.text($0.message)])) })
  }
}
