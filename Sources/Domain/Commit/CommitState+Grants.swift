import Formats

/// Access by hand. The customer is locked; no purchase changes.
extension CommitState {
  /// Gives a customer a grant that is new to the ledger, and tells the entitlements that it changes.
  ///
  /// - Throws: ``GrantRefusal``, and then nothing has changed.
  public mutating func give(
    _ grant: Grant, limits: GrantLimits, publisher: Publisher, traceparent: String?
  ) throws(GrantRefusal) {
    guard grant.endsAt > now else { throw .alreadyOver }
    guard grant.endsAt <= now.adding(Int64(limits.longestDays) * .millisecondsOfDay) else { throw .tooLong }
    guard publisher.offers.contains(grant.offerId) else { throw .unknownOffer }
    guard openGrants(of: grant.customer) < limits.openOfCustomer else { throw .openOfCustomer }
    welcome(grant.customer)
    change(grant.customer, publisher, .grant, traceparent) { $0.append(grant) }
  }

  /// Brings a customer's open grant from another fleet, as it is there. The limits of `gateway.limits` do not
  /// count: they have counted there. But no customer has more than ``Grant/mostOpenOfCustomer``.
  ///
  /// - Parameter isTold: whether the entitlements that it changes are told. If not, they count as told.
  /// - Throws: ``GrantRefusal``, and then nothing has changed.
  public mutating func bring(_ grant: Grant, isTold: Bool, publisher: Publisher) throws(GrantRefusal) {
    guard grant.state(at: now) == .open else { throw .alreadyOver }
    guard publisher.offers.contains(grant.offerId) else { throw .unknownOffer }
    guard openGrants(of: grant.customer) < Grant.mostOpenOfCustomer else { throw .openOfCustomer }
    silence = isTold ? .none : .all
    defer { silence = .none }
    welcome(grant.customer)
    change(grant.customer, publisher, .grant, nil) { $0.append(grant) }
  }

  /// Ends a customer's open grant before its time, and tells the entitlements that change.
  ///
  /// - Returns: the grant as it is now; `nil` if the customer has no open grant with the id. Then nothing changes.
  public mutating func withdraw(
    _ id: GrantId, of customer: CustomerKey, publisher: Publisher, traceparent: String?
  ) -> Grant? {
    let found = customers[customer]?.grants.first { $0.id == id && $0.state(at: now) == .open }
    guard var grant = found else { return nil }
    grant.withdrawnAt = now
    change(customer, publisher, .grant, traceparent) { grants in grants.removeAll { $0.id == id } }
    return grant
  }

  /// Notes which grants of a customer are over by the time, and tells the entitlements that changed by it.
  ///
  /// - Returns: the grants that are over now.
  public mutating func endGrants(of customer: CustomerKey, publisher: Publisher) -> [Grant] {
    let over = (customers[customer]?.grants ?? []).filter { $0.state(at: now) == .ended }
    guard !over.isEmpty else { return [] }
    let ids = Set(over.map(\.id))
    change(customer, publisher, .time, nil) { grants in grants.removeAll { ids.contains($0.id) } }
    return over.map { grant in
      var grant = grant
      grant.endedAt = now
      return grant
    }
  }

  private func openGrants(of customer: CustomerKey) -> Int {
    (customers[customer]?.grants ?? []).count { $0.state(at: now) == .open }
  }

  private mutating func change(
    _ customer: CustomerKey, _ publisher: Publisher, _ cause: EntitlementChange.Cause, _ traceparent: String?,
    _ change: (inout [Grant]) -> Void
  ) {
    guard var record = customers[customer] else { return }
    change(&record.grants)
    note(record, of: customer)
    tellEntitlements(of: customer, rules: rules(for: customer, publisher), cause, traceparent: traceparent)
  }
}
