import Domain
import Formats
import JSON

/// Whose webhook bodies a comparison reads. docs/how-to/try-in-shadow.md has what each of them says, and what it lacks.
public enum WebhookPreset: String, Sendable, CaseIterable {
  case revenuecat = "revenuecat-webhooks"
  case iaptic = "iaptic-webhooks"

  /// The columns of the same vendor's export, for its words.
  private var export: ImportPreset {
    switch self {
    case .revenuecat: .revenuecat
    case .iaptic: .iaptic
    }
  }

  /// Reads a body.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Throws: ``RecordedWebhooks/Unusable`` or `DecodingError`.
  func body(_ members: borrowing JSONObject, now: Int64) throws -> RecordedWebhooks.Body {
    switch self {
    case .revenuecat: try event(members.requiredObject("event"))
    case .iaptic: try updated(members, now)
    }
  }

  private func customer(_ id: String?) throws -> CustomerId {
    guard let id = id.map(CustomerId.init(_:)) else { throw RecordedWebhooks.Unusable(cause: "names no customer") }
    guard id.isValid else { throw RecordedWebhooks.Unusable(cause: "the customer's id cannot be used") }
    return id
  }

  private func transaction(_ id: String) throws -> TransactionId {
    let bare = export.bare(id)
    guard TransactionId.isValid(bare) else {
      throw RecordedWebhooks.Unusable(cause: "the transaction's id is not 1 to \(TransactionId.longest) digits")
    }
    return TransactionId(bare)
  }

  private func time(_ number: Int64?) throws -> Int64? {
    guard let number else { return nil }
    guard number.isTime else { throw RecordedWebhooks.Unusable(cause: "has a time that no calendar has") }
    return number
  }

  // MARK: One event

  /// Reads an event of RevenueCat's, which is about one purchase.
  private func event(_ event: borrowing JSONObject) throws -> RecordedWebhooks.Body {
    let at = try time(event.int64("event_timestamp_ms"))
    let type = try event.string("type")
    if type == "TRANSFER" { return try transfer(event, at) }
    guard type != "TEST", let store = try event.string("store"), export.isApple(store),
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
    let claim = ImportRow.Claim(
      offerId: offer.flatMap(Self.offer), purchasedAt: try time(event.int64("purchased_at_ms")), expiresAt: end)
    let customer = try customer(event.string("app_user_id") ?? event.string("original_app_user_id"))
    return .purchases([try transaction(id): claim], of: customer, isWhole: false, at: at)
  }

  private static func offer(_ text: String) -> OfferId? {
    (1...ImportFile.longestText).contains(text.unicodeScalars.count) ? OfferId(text) : nil
  }

  /// A customer of an app without a sign-in has an id that begins so.
  private static let anonymous = "$RCAnonymousID:"

  private func transfer(_ event: borrowing JSONObject, _ at: Int64?) throws -> RecordedWebhooks.Body {
    let givers = try event.value("transferred_from", as: [String].self) ?? []
    let takers = try event.value("transferred_to", as: [String].self) ?? []
    // Both lists have all names of one person.
    let taker = try customer(takers.first { !$0.hasPrefix(Self.anonymous) } ?? takers.first)
    return .transfer(from: Set(givers.map(CustomerId.init(_:))), to: taker, at: at)
  }

  // MARK: All purchases of a customer

  /// A purchase in a body of iaptic's.
  private struct Listed: Decodable {
    var platform: String?
    var purchaseId: String?
    var transactionId: String?
    var purchaseDate: String?
    var expirationDate: String?
    var isExpired: Bool?
    var isPending: Bool?
    var isConsumed: Bool?
    var cancelationReason: String?
  }

  private struct Notice: Decodable {
    var date: String?
  }

  private func updated(_ members: borrowing JSONObject, _ now: Int64) throws -> RecordedWebhooks.Body {
    guard try members.string("type") == "purchases.updated" else { return .nothing }
    let customer = try customer(members.string("applicationUsername"))
    let at = try date(members.value("notification", as: Notice.self)?.date)
    var claims: [TransactionId: ImportRow.Claim] = [:]
    for listed in try members.value("purchases", as: [String: Listed].self)?.values.map(\.self) ?? [] {
      guard let platform = listed.platform, export.isApple(platform), listed.isPending != true,
        listed.isConsumed != true, let name = listed.purchaseId ?? listed.transactionId
      else { continue }
      let id = try transaction(name)
      let claim = try claim(listed, at ?? now)
      // The products of one subscription have the same purchase: the last one says until when there is access.
      if let known = claims[id], known.expiresAt ?? .max >= claim.expiresAt ?? .max { continue }
      claims[id] = claim
    }
    return .purchases(claims, of: customer, isWhole: true, at: at)
  }

  /// - Parameter at: when the body says it.
  private func claim(_ listed: Listed, _ at: Int64) throws -> ImportRow.Claim {
    var end = try date(listed.expirationDate)
    // A reason without an end is a refund. With one, it may only say that there is no renewal.
    let isRefunded = end == nil && listed.cancelationReason?.isEmpty == false
    if listed.isExpired == true || isRefunded { end = min(end ?? at, at) }
    return ImportRow.Claim(purchasedAt: try date(listed.purchaseDate), expiresAt: end)
  }

  private func date(_ text: String?) throws -> Int64? {
    guard let text else { return nil }
    guard let time = ImportTime.milliseconds(text) else {
      throw RecordedWebhooks.Unusable(cause: "has a time that cannot be read")
    }
    return time
  }
}
