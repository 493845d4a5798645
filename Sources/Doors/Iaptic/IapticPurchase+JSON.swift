import Domain
import Formats
import JSON

extension IapticPurchase {
  /// Returns the last purchase of each product, in the order of the products.
  static func lastOfEachProduct(_ purchases: [IapticPurchase]) -> [IapticPurchase] {
    var last: [ProductId: IapticPurchase] = [:]
    for purchase in purchases {
      let known = last[purchase.productId]
      if known.map({ $0.isBefore(purchase) }) ?? true { last[purchase.productId] = purchase }
    }
    return last.sorted { $0.key < $1.key }.map(\.value)
  }

  /// A running purchase comes after one that is over, then the later one after the earlier one. An id may stand for a
  /// purchase in each environment: production's comes last.
  private func isBefore(_ other: IapticPurchase) -> Bool {
    if isExpired != other.isExpired { return isExpired }
    if lastDate != other.lastDate { return lastDate < other.lastDate }
    if purchaseId != other.purchaseId { return purchaseId < other.purchaseId }
    return isSandbox && !other.isSandbox
  }

  /// Writes the Purchases Collection of webhooks and of `/v2`: an object with the products' ids as names.
  static func collection(_ purchases: [IapticPurchase]) -> [UInt8] {
    JSONWriter.object(lastOfEachProduct(purchases).map { (prefixed($0.productId), $0.encoded) })
  }

  /// Returns the purchases that fit into an event: running ones before ended ones, the later ones first.
  ///
  /// - Parameters:
  ///   - first: the product that the event is about, which is always there.
  ///   - bytes: the most bytes of their collection.
  static func fitting(_ purchases: [IapticPurchase], first: ProductId, bytes: Int) -> [IapticPurchase] {
    let ordered = lastOfEachProduct(purchases).sorted { one, other in
      let (isFirst, isOtherFirst) = (one.productId == first, other.productId == first)
      return isFirst != isOtherFirst ? isFirst : other.isBefore(one)
    }
    var room = bytes - 2
    return Array(
      ordered.prefix { purchase in
        // The name has its quotation marks, a colon and a comma.
        room -= purchase.encoded.count + JSONWriter.text(prefixed(purchase.productId)).count + 2
        return room >= 0 || purchase.productId == first
      })
  }

  /// An id as webhooks and `/v2` write it: with the name of its platform.
  static func prefixed(_ id: some Identifier) -> String { "apple:" + id.text }

  /// The purchase of webhooks and of `/v2`, with dates after ISO 8601.
  var encoded: [UInt8] {
    JSONWriter.object { purchase in
      purchase.member("productId", Self.prefixed(productId))
      purchase.member("platform", "apple")
      purchase.member("sandbox", isSandbox)
      purchase.member("purchaseId", Self.prefixed(purchaseId))
      purchase.member("transactionId", Self.prefixed(transactionId))
      purchase.member("purchaseDate", rfc3339(milliseconds: purchaseDate))
      purchase.member("lastRenewalDate", lastRenewalDate.map(rfc3339(milliseconds:)))
      purchase.member("expirationDate", expirationDate.map(rfc3339(milliseconds:)))
      purchase.member("renewalIntentChangeDate", renewalIntentChangeDate.map(rfc3339(milliseconds:)))
      writeState(to: &purchase)
      purchase.member("isPending", false)
      purchase.member("amountMicros", amountMicros)
      purchase.member("currency", currency)
      purchase.member("isSharedPurchase", isShared)
      purchase.member("entitledUsers", array: entitledUsers.map(JSONWriter.text))
    }
  }

  /// Writes the members of an element of `collection` in the answer to `/v1/validate`: plain ids, and dates in
  /// milliseconds since 1970.
  func tell(to purchase: inout JSONWriter) {
    purchase.member("id", productId)
    purchase.member("platform", "ios-appstore")
    purchase.member("purchaseId", purchaseId)
    purchase.member("transactionId", transactionId)
    purchase.member("purchaseDate", purchaseDate)
    purchase.member("lastRenewalDate", lastRenewalDate)
    purchase.member("expiryDate", expirationDate)
    purchase.member("renewalIntentChangeDate", renewalIntentChangeDate)
    writeState(to: &purchase)
  }

  /// Writes the members that all answers have alike.
  private func writeState(to purchase: inout JSONWriter) {
    purchase.member("isExpired", isExpired)
    purchase.member("renewalIntent", renewalIntent?.rawValue)
    purchase.member("cancelationReason", cancelationReason.rawValue)
    purchase.member("isBillingRetryPeriod", isBillingRetryPeriod)
    purchase.member("isTrialPeriod", isTrialPeriod)
    purchase.member("isIntroPeriod", isIntroPeriod)
    purchase.member("discountId", discountId)
    purchase.member("priceConsentStatus", priceConsentStatus?.rawValue)
    // The device finishes a transaction. The ledger neither acknowledges nor consumes.
    purchase.member("isAcknowledged", true)
    purchase.member("isConsumed", false)
    purchase.member("quantity", quantity.map(Int64.init))
  }
}
