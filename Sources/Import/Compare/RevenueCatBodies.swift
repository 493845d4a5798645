import Domain
import JSON

/// RevenueCat's webhook bodies. Each has one event.
struct RevenueCatBodies: RecordedBodyReader {
  let name = "revenuecat-webhooks"
  let columns = ExportColumns.revenuecat

  func body(_ members: borrowing JSONObject, now: Int64) throws -> RecordedBody {
    try event(members.requiredObject("event"))
  }

  /// Reads an event of RevenueCat's, which is about one purchase.
  private func event(_ event: borrowing JSONObject) throws -> RecordedBody {
    let at = try time(event.int64("event_timestamp_ms"))
    let type = try event.string("type")
    if type == "TRANSFER" { return try transfer(event, at) }
    guard type != "TEST", let store = try event.string("store"), columns.isApple(store),
      let id = try event.string("original_transaction_id") ?? event.string("transaction_id")
    else { return .nothing }
    // Refunds come as a cancellation by support. A subscription that merely does not renew keeps its end.
    let isRefunded = try type == "CANCELLATION" && event.string("cancel_reason") == "CUSTOMER_SUPPORT"
    let paid = try time(event.int64("expiration_at_ms"))
    let grace = try time(event.int64("grace_period_expiration_at_ms"))
    var end = [paid, grace].compactMap(\.self).max()
    if isRefunded || type == "EXPIRATION" { end = [paid, at].compactMap(\.self).min() ?? 0 }
    let offers = try event.value("entitlement_ids", as: [String].self)
    let offer = try offers?.first ?? event.string("entitlement_id")
    let claim = ClaimedPurchase(
      offerId: offer.flatMap(Self.offer), purchasedAt: try time(event.int64("purchased_at_ms")), expiresAt: end)
    let customer = try customer(event.string("app_user_id") ?? event.string("original_app_user_id"))
    return .purchases([try transaction(id): claim], of: customer, isWhole: false, at: at)
  }

  private static func offer(_ text: String) -> OfferId? {
    (1...ImportFile.longestText).contains(text.unicodeScalars.count) ? OfferId(text) : nil
  }

  /// A customer of an app without a sign-in has an id that begins so.
  private static let anonymous = "$RCAnonymousID:"

  private func transfer(_ event: borrowing JSONObject, _ at: Int64?) throws -> RecordedBody {
    let givers = try event.value("transferred_from", as: [String].self) ?? []
    let takers = try event.value("transferred_to", as: [String].self) ?? []
    // Both lists have all names of one person.
    let taker = try customer(takers.first { !$0.hasPrefix(Self.anonymous) } ?? takers.first)
    return .transfer(from: Set(givers.map(CustomerId.init(_:))), to: taker, at: at)
  }
}
