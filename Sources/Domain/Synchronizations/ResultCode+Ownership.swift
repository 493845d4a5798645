extension ResultCode {
  /// The publisher asks for a proof of ownership, and the registration has none.
  public static let ownershipNotProven = Self(rawValue: "OWNERSHIP_NOT_PROVEN")
  /// The customer became the owner of the purchase.
  public static let purchaseOwnershipTransferred = Self(rawValue: "PURCHASE_OWNERSHIP_TRANSFERRED")
  /// The customer owned the purchase before the transfer.
  public static let purchaseOwnershipUnchanged = Self(rawValue: "PURCHASE_OWNERSHIP_UNCHANGED")
  /// The purchase gives no access, so it cannot be transferred.
  public static let purchaseNotActive = Self(rawValue: "PURCHASE_NOT_ACTIVE")
  /// The purchase is verified. The caller named no customer, so nobody owns it because of this synchronization.
  public static let purchaseUnclaimed = Self(rawValue: "PURCHASE_UNCLAIMED")
  /// The product gives another offer than the caller named.
  public static let offerMismatch = Self(rawValue: "OFFER_MISMATCH")
  /// A family member shares the purchase, and the publisher's offer does not allow that.
  public static let familySharingNotAllowed = Self(rawValue: "FAMILY_SHARING_NOT_ALLOWED")
  /// The publisher has no purchase with this transaction.
  public static let purchaseNotFound = Self(rawValue: "PURCHASE_NOT_FOUND")

  /// The results about the owner of a purchase.
  public static let ofOwnership: [Self] = [
    .ownershipNotProven, .purchaseOwnershipTransferred, .purchaseOwnershipUnchanged, .purchaseNotActive,
    .purchaseNotFound,
  ]
}
