/// A change of a purchase, as the doors' events tell it.
public struct PurchaseChange: Sendable {
  /// The purchase before the commit; `nil` if it is new to the ledger.
  public let before: Purchase?
  public let after: Purchase
  /// The job whose commit it is; `nil` when no registration caused the change.
  public let job: Job?
  /// The result of the job.
  public let result: SynchronizationResult?
  /// Whether evidence, owner or attributes changed.
  public let isNews: Bool
  /// The purchases of the owner after the change that may decide (decision 0065), without consumables that did not
  /// change. They are enough for what the customer has, and for the last purchase of each product. They are not enough
  /// to count purchases, or for the time until which they are paid.
  public let holdings: [Purchase]
  /// What is left to the owner before, if the purchase has another owner now, or none; else empty.
  public let previousHoldings: [Purchase]
  /// Milliseconds since 1970.
  public let now: Int64
  public let traceparent: String?

  /// Creates a change.
  public init(
    before: Purchase?, after: Purchase, job: Job? = nil, result: SynchronizationResult? = nil, isNews: Bool = true,
    holdings: [Purchase] = [], previousHoldings: [Purchase] = [], now: Int64, traceparent: String? = nil
  ) {
    self.before = before
    self.after = after
    self.job = job
    self.result = result
    self.isNews = isNews
    self.holdings = holdings
    self.previousHoldings = previousHoldings
    self.now = now
    self.traceparent = traceparent
  }

  /// The owner who lost the purchase with this change.
  public var previousOwner: Owner? { Self.previousOwner(before, after) }

  /// The owner who loses a purchase that changes so.
  static func previousOwner(_ before: Purchase?, _ after: Purchase) -> Owner? {
    guard let owner = before?.owner, after.owner?.is(owner.customerId) != true else { return nil }
    return owner
  }
}
