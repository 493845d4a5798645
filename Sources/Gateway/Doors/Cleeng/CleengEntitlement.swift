import Domain
import Formats

/// A customer's access to one offer, as Cleeng tells it: several purchases give one answer, with the latest end.
struct CleengEntitlement: Equatable {
  let customerId: String
  let offerId: String
  let accessGranted: Bool
  /// When the access ends, or has ended, in milliseconds since 1970; `nil` if there is no end, or no purchase. In the
  /// grace period it has passed: clients decide by ``accessGranted``.
  let expiresAt: Int64?

  /// Computes the access from the customer's purchases: access is never stored.
  ///
  /// - Parameter now: milliseconds since 1970.
  init(_ customer: CustomerKey, offerId: String, purchases: [Purchase], publisher: Publisher, now: Int64) {
    customerId = customer.id
    self.offerId = offerId
    let all = Self.lasting(purchases, of: customer, publisher, now).filter { $0.access.offerId?.exact == offerId.exact }
    let granting = all.filter(\.access.isGranted)
    accessGranted = !granting.isEmpty
    if accessGranted {
      // An access without an end is later than every other.
      let ends = granting.map(\.expiresAt)
      expiresAt = ends.contains(nil) ? nil : ends.compactMap(\.self).max()
    } else {
      expiresAt = all.compactMap(\.expiresAt).max()
    }
  }

  /// The tags of all offers that the customer may use now, each once, in the order of their bytes.
  static func tags(
    _ customer: CustomerKey, purchases: [Purchase], publisher: Publisher, now: Int64
  ) -> [String] {
    let offers = lasting(purchases, of: customer, publisher, now).filter(\.access.isGranted)
      .compactMap { publisher.offers.offer(forProduct: $0.purchase.deciding.productId) }
    return Set(offers.flatMap { $0.tags.map(\.exact) }).sorted().map(\.text)
  }

  /// A consumable gives no lasting access: its event tells the publisher to credit it, and then it is used up.
  private static func lasting(
    _ purchases: [Purchase], of customer: CustomerKey, _ publisher: Publisher, _ now: Int64
  ) -> [CleengSubscription] {
    purchases.filter { $0.deciding.kind != .consumable }
      .map { CleengSubscription($0, of: customer.id, publisher: publisher, now: now) }
  }
}
