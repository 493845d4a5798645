import Domain

extension MbaasyPurchase {
  /// The purchases of a receipt, as an app may see them that acts for a customer.
  ///
  /// A purchase that gave access while Apple was away, and that Apple has not confirmed, is missing, as one that Apple
  /// does not know.
  ///
  /// - Parameter now: milliseconds since 1970.
  static func shown(
    _ purchases: [Purchase], to customer: CustomerId?, _ caller: MbaasyAuthentication, now: Int64
  ) -> [MbaasyPurchase] {
    purchases.filter { $0.provisionalUntil.map { now < $0 } ?? true }
      .map { MbaasyPurchase($0, shownTo: customer, caller) }
  }

  /// The purchase as an app may see it that acts for a customer.
  ///
  /// Any device with a receipt may upload it, also a device of another user. So the answer tells the owner, and what
  /// the owner's app gave, only to the owner.
  init(_ purchase: Purchase, shownTo customer: CustomerId?, _ caller: MbaasyAuthentication) {
    let isOwn = purchase.owner.map { owner in customer.map(owner.is) ?? false } ?? true
    self =
      isOwn
      ? MbaasyPurchase(purchase, publisher: caller.publisher, policy: caller.door.policy)
      : .withoutOwner(purchase, publisher: caller.publisher)
  }
}
