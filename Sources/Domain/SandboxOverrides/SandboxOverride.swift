public import Formats

/// That purchases from Apple's sandbox give one customer access until a date, whatever the publisher's file says about
/// the sandbox (``SandboxAccess``).
///
/// A customer has one at most. It is no evidence and gives no offer: without a purchase it changes nothing.
public struct SandboxOverride: Sendable, Equatable {
  public var customer: CustomerKey
  /// Times are milliseconds since 1970. From this one on, only the publisher's file counts.
  public var endsAt: Int64
  public var reason: Reason
  /// What the person noted. It may tell about the customer.
  @Exact public var note: String?
  /// Who set it, as the audit log names actors. The ledger fills it in.
  @Exact public var setBy: String
  public var setAt: Int64
  /// When a commit told its end: at the date or later, or before it for one that was withdrawn.
  public var endedAt: Int64?

  /// Why somebody set it.
  public enum Reason: String, Sendable, CaseIterable {
    /// A mistake is being looked into.
    case support
    /// The customer tests the app.
    case testing
    /// The account of Apple's App Review.
    case appReview
  }

  /// The most characters of a note.
  public static let longestNote = Grant.longestNote

  /// Creates an override.
  public init(
    customer: CustomerKey, endsAt: Int64, reason: Reason, note: String? = nil, setBy: String = "", setAt: Int64,
    endedAt: Int64? = nil
  ) {
    (self.customer, self.endsAt, self.reason, self.note) = (customer, endsAt, reason, note)
    (self.setBy, self.setAt, self.endedAt) = (setBy, setAt, endedAt)
  }

  /// Its state at a time.
  public func state(at now: Int64) -> Grant.State {
    guard let endedAt else { return now < endsAt ? .open : .ended }
    return endedAt < endsAt ? .withdrawn : .ended
  }

  /// Whether somebody asks for the same override again.
  public func isSameWish(as other: SandboxOverride) -> Bool {
    customer == other.customer && endsAt == other.endsAt && reason == other.reason && note.isExactly(other.note)
  }
}
