extension CommitState {
  /// Takes a purchase from its owner, and tells the owner's changed entitlements. Evidence and first grants stay.
  ///
  /// - Parameter publisher: the purchase's.
  /// - Returns: the owner before; `nil` if nobody owned the purchase. Then nothing changes.
  @discardableResult
  public mutating func release(
    _ key: PurchaseKey, publisher: Publisher, traceparent: String? = nil
  ) -> Owner? {
    guard let purchase = purchases[key], let owner = purchase.owner else { return nil }
    free(key)
    touch(key)
    settle(key, publisher, before: nil)
    let customer = key.customer(owner.customerId)
    tellEntitlements(of: customer, rules: rules(for: customer, publisher), .release, traceparent: traceparent)
    tellDoors(purchase, purchases[key], publisher, traceparent: traceparent)
    return owner
  }

  /// Tells what changed in a customer's entitlements because the publisher changed its rules, or because time has
  /// passed.
  public mutating func reevaluate(_ customer: CustomerKey, publisher: Publisher) {
    tellEntitlements(of: customer, rules: rules(for: customer, publisher), .rules, traceparent: nil)
  }
}
