public import Formats

/// Access to one offer that a person of the publisher's gave one customer by hand, until a date.
///
/// It is a source of entitlement beside purchases. It is no evidence: it never changes a purchase or its owner, and no
/// purchase changes it.
public struct Grant: Sendable, Equatable {
  public var id: GrantId
  public var customer: CustomerKey
  public var offerId: OfferId
  public var reason: Reason
  /// What the person noted. It may tell about the customer.
  @Exact public var note: String?
  /// Times are milliseconds since 1970.
  public var createdAt: Int64
  /// The access ends at this time.
  public var endsAt: Int64
  public var withdrawnAt: Int64?
  /// When a commit noted that it is over, and told so.
  public var endedAt: Int64?

  /// Why somebody gave it.
  public enum Reason: String, Sendable, CaseIterable {
    /// A mistake is being looked into, and the customer must not wait for that.
    case support
    /// An apology.
    case goodwill
    /// A present that advertises.
    case promo
  }

  /// Where it is in its life.
  public enum State: String, Sendable, CaseIterable {
    case open, ended, withdrawn
  }

  /// The most characters of a note.
  public static let longestNote = 500
  /// The most open grants of one customer, whoever gives them: each look at the customer's access reads all of them.
  public static let mostOpenOfCustomer = 1000

  /// Creates a grant.
  public init(
    id: GrantId, customer: CustomerKey, offerId: OfferId, reason: Reason, note: String? = nil, createdAt: Int64,
    endsAt: Int64, withdrawnAt: Int64? = nil, endedAt: Int64? = nil
  ) {
    (self.id, self.customer, self.offerId, self.reason) = (id, customer, offerId, reason)
    (self.note, self.createdAt, self.endsAt) = (note, createdAt, endsAt)
    (self.withdrawnAt, self.endedAt) = (withdrawnAt, endedAt)
  }

  /// Its state at a time.
  public func state(at now: Int64) -> State {
    if withdrawnAt != nil { return .withdrawn }
    return endedAt == nil && now < endsAt ? .open : .ended
  }

  /// Whether somebody asks for the same grant again, and not for another one under its id.
  public func isSameWish(as other: Grant) -> Bool {
    id == other.id && customer == other.customer && offerId == other.offerId && reason == other.reason
      && note.isExactly(other.note) && endsAt == other.endsAt
  }
}
