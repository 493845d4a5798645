import Domain

extension MbaasyPurchase {
  /// The purchase as an app may see it that acts for a customer.
  ///
  /// Any device with a receipt may upload it, also a device of another user. So the answer tells the owner, and what
  /// the owner's app gave, only to the owner.
  init(_ purchase: Purchase, shownTo customer: String?, _ caller: MbaasyAuthentication) {
    let isOwn = purchase.owner.map { owner in customer.map(owner.is) ?? false } ?? true
    self =
      isOwn
      ? MbaasyPurchase(purchase, publisher: caller.publisher, policy: caller.door.policy)
      : .withoutOwner(purchase, publisher: caller.publisher)
  }
}
