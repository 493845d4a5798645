/// A customer as a commit reads it under its lock.
public struct CustomerRecord: Sendable, Equatable {
  /// Whether the ledger has a row of the customer.
  public var isKnown: Bool
  /// The customerVersion; it grows with every commit that changes an entitlement.
  public var version: Int64
  /// The entitlements that were told last.
  public var told: [ToldEntitlement]
  /// The UUID that the publisher has set for the customer, lower case.
  public var appAccountToken: AppAccountToken?
  /// The time since which the customer is erased, in milliseconds since 1970; `nil` for all others.
  public var erasedAt: Int64?
  /// Those of the customer's purchases that the commit has not locked, and that may decide (decision 0065). Some
  /// commits read all of them.
  public var others: [Purchase]
  /// The customer's grants whose end was not told yet. Some may be over by the time.
  public var grants: [Grant]
  /// Until when the customer's ``SandboxOverride`` lasts, in milliseconds since 1970, until its end is told; `nil`
  /// without one. It may be over by the time.
  public var sandboxUntil: Int64?

  /// Whether the customer was erased after a job was registered. An erased customer may come back and register again.
  public func isErased(for job: Job) -> Bool { erasedAt.map { job.registeredAt <= $0 } ?? false }

  /// Creates a record; without arguments that of a customer whom the ledger does not know.
  public init(
    isKnown: Bool = false, version: Int64 = 0, told: [ToldEntitlement] = [], appAccountToken: AppAccountToken? = nil,
    erasedAt: Int64? = nil, others: [Purchase] = [], grants: [Grant] = [], sandboxUntil: Int64? = nil
  ) {
    self.isKnown = isKnown
    self.version = version
    self.told = told
    self.appAccountToken = appAccountToken
    self.erasedAt = erasedAt
    self.others = others
    self.grants = grants
    self.sandboxUntil = sandboxUntil
  }
}
