extension EntitlementChange {
  /// Why the ledger compared a customer's entitlements with those told last. An open set for its readers.
  public enum Cause: String, Sendable, CaseIterable {
    /// The customer registered a purchase.
    case registration
    /// The purchase has another owner.
    case transfer
    /// Apple signed something new about a purchase.
    case evidence
    /// The access ended by the clock.
    case time
    /// The publisher released a purchase, so that nobody owns it.
    case release
    /// The publisher gave the customer a grant, or withdrew one.
    case grant
    /// Somebody allowed the sandbox for the customer, or that ended.
    case sandboxAccess
    /// The publisher's offers, or its rules for the sandbox, changed.
    case rules
  }
}
