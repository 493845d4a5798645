import Domain
import Formats
import JSON

/// A customer in the list of `GET /v2/customers`.
struct IapticSubscriber {
  let user: String
  private let purchases: [IapticPurchase]
  private let subscriptions: [IapticPurchase]

  /// - Parameter rules: those for the customer.
  init(_ user: String, _ purchases: [Purchase], rules: AccessRules, now: Int64) {
    self.user = user
    self.purchases = purchases.compactMap { IapticPurchase.of($0, rules: rules, now: now).first }
    subscriptions = Self.subscriptions(purchases, rules: rules, now: now)
  }

  /// The subscriptions among purchases: a running one comes first, then the one that ends last.
  static func subscriptions(_ purchases: [Purchase], rules: AccessRules, now: Int64) -> [IapticPurchase] {
    purchases.filter { $0.deciding.kind == .autoRenewable || $0.deciding.kind == .nonRenewing }
      .compactMap { IapticPurchase.of($0, rules: rules, now: now).first }
      .sorted { one, other in
        if one.isExpired != other.isExpired { return !one.isExpired }
        let (end, otherEnd) = (one.expirationDate ?? .max, other.expirationDate ?? .max)
        return end != otherEnd ? end > otherEnd : one.purchaseId < other.purchaseId
      }
  }

  /// Writes the members of a row.
  func write(to row: inout JSONWriter) {
    row.member("applicationUsername", user)
    row.member("customerInfo") { info in
      let last = purchases.max { ($0.purchaseDate, $0.purchaseId) < ($1.purchaseDate, $1.purchaseId) }
      info.member("lastPurchaseId", last.map { IapticPurchase.prefixed($0.purchaseId) })
      info.member("lastPurchaseDate", (last?.purchaseDate).map(rfc3339(milliseconds:)))
      info.member("lastRenewalDate", purchases.compactMap(\.lastRenewalDate).max().map(rfc3339(milliseconds:)))
      guard let subscription = subscriptions.first else { return }
      info.member("expirationDate", subscription.expirationDate.map(rfc3339(milliseconds:)))
      info.member("activeSubscriber", !subscription.isExpired)
      info.member("lapsedSubscriber", subscription.isExpired)
      info.member("renewalIntent", subscription.renewalIntent?.rawValue)
    }
    let ids = purchases.map(\.purchaseId).sorted().map { JSONWriter.text(IapticPurchase.prefixed($0)) }
    row.member("receiptIds", array: ids)
  }
}
