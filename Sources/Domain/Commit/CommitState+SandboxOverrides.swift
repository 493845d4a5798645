import Formats

/// Overrides of the publisher's `sandboxAccess`. The customer is locked; no purchase changes.
extension CommitState {
  /// Lets purchases from the sandbox give a customer access, and tells the entitlements that it changes. It takes the
  /// place of the override before.
  ///
  /// - Throws: ``SandboxOverrideRefusal``, and then nothing has changed.
  public mutating func allowSandbox(
    _ wish: SandboxOverride, limits: SandboxOverrideLimits, publisher: Publisher, traceparent: String?
  ) throws(SandboxOverrideRefusal) {
    guard wish.endsAt > now else { throw .alreadyOver }
    guard wish.endsAt <= now.adding(Int64(limits.longestDays) * .millisecondsOfDay) else { throw .tooLong }
    welcome(wish.customer)
    setSandbox(until: wish.endsAt, for: wish.customer, publisher, traceparent)
  }

  /// Brings a customer's override from another fleet, as it is there. The limits count.
  ///
  /// - Parameter isTold: whether the entitlements that it changes are told. If not, they count as told.
  /// - Throws: ``SandboxOverrideRefusal``, and then nothing has changed.
  public mutating func bringSandbox(
    _ wish: SandboxOverride, isTold: Bool, limits: SandboxOverrideLimits, publisher: Publisher
  ) throws(SandboxOverrideRefusal) {
    silence = isTold ? .none : .all
    defer { silence = .none }
    try allowSandbox(wish, limits: limits, publisher: publisher, traceparent: nil)
  }

  /// Ends a customer's override before its time, and tells the entitlements that change.
  ///
  /// - Returns: the override as it is now; `nil` if it is over. Then nothing changes.
  public mutating func withdrawSandbox(
    _ override: SandboxOverride, publisher: Publisher, traceparent: String?
  ) -> SandboxOverride? {
    guard override.state(at: now) == .open else { return nil }
    return end(override, publisher, traceparent)
  }

  /// Notes that a customer's override is over by the time, and tells the entitlements that changed by it.
  ///
  /// - Returns: the override as it is now; `nil` if it is in force, or if its end was told before.
  public mutating func endSandbox(_ override: SandboxOverride, publisher: Publisher) -> SandboxOverride? {
    guard override.endedAt == nil, override.endsAt <= now else { return nil }
    return end(override, publisher, nil)
  }

  private mutating func end(
    _ override: SandboxOverride, _ publisher: Publisher, _ traceparent: String?
  ) -> SandboxOverride {
    var ended = override
    ended.endedAt = now
    setSandbox(until: nil, for: override.customer, publisher, traceparent)
    return ended
  }

  private mutating func setSandbox(
    until end: Int64?, for customer: CustomerKey, _ publisher: Publisher, _ traceparent: String?
  ) {
    guard var record = customers[customer] else { return }
    record.sandboxUntil = end
    note(record, of: customer)
    tellEntitlements(of: customer, rules: rules(for: customer, publisher), .sandboxAccess, traceparent: traceparent)
  }
}
