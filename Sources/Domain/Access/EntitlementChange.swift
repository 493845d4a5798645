/// The change of a customer's access to one offer since it was told last.
public struct EntitlementChange: Sendable, Equatable {
  public let offerId: OfferId
  /// What was told last; `nil` if nothing was.
  public let before: ToldEntitlement?
  /// What is true now; `nil` if no purchase and no grant of the customer gives the offer.
  public let after: ToldEntitlement?

  /// Creates a change.
  public init(offerId: OfferId, before: ToldEntitlement?, after: ToldEntitlement?) {
    self.offerId = offerId
    self.before = before
    self.after = after
  }

  /// Returns the changes, in the order of the bytes of the offers' ids; none if nothing changed.
  ///
  /// The time is a change, too: an entitlement that was told with access, and whose end has passed since, has lost it.
  /// No entitlement and one without access are the same for the customer, so the step from one to the other is no
  /// change.
  public static func between(told: [ToldEntitlement], now: [OfferEntitlement]) -> [EntitlementChange] {
    let before = Dictionary(told.map { ($0.offerId, $0) }) { first, _ in first }
    let after = Dictionary(now.map { ($0.offerId, $0.told) }) { first, _ in first }
    return Set(before.keys).union(after.keys).sorted().compactMap { offer in
      let (old, new) = (before[offer], after[offer])
      guard old != new, old != nil || new?.accessGranted == true, new != nil || old?.accessGranted == true else {
        return nil
      }
      return EntitlementChange(offerId: offer, before: old, after: new)
    }
  }
}
