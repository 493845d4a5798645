/// Access while Apple is away (`grantWhileAppleIsAway`).
extension CommitState {
  /// Lets the customer of a job use a purchase for a time, on evidence that only the gateway has verified.
  ///
  /// The rules are those of a registration: the product has an offer, the period runs, and the purchase is the
  /// customer's or nobody's. A purchase that Apple has spoken about and that gives access needs no provision. Another
  /// provision follows only after Apple's next answer. A consumable never gives access this way.
  ///
  /// - Parameter until: milliseconds since 1970.
  /// - Returns: whether the customer may use the purchase now. If not, nothing has changed.
  public mutating func grantProvisionally(
    _ job: Job, _ piece: Evidence, until: Int64, publisher: Publisher
  ) -> Bool {
    guard !job.isUnclaimed, !isErased(job) else { return false }
    let key = piece.key(of: job.publisherId)
    let (known, customer) = (purchases[key], CustomerKey(publisherId: job.publisherId, id: job.customerId))
    let rules = rules(for: customer, publisher)
    guard known?.provisionalUntil == nil, known.map({ !Access.of($0, rules: rules, now: now).isGranted }) ?? true else {
      return false
    }
    var trial = self
    guard trial.merge([piece], into: key) else { return false }
    let followers = trial.handOn(key).filter { $0 != key }
    guard let purchase = trial.purchases[key], purchase.deciding.kind != .consumable
    else { return false }
    trial.provide(key, until: until)
    if let wanted = job.requestedOfferId, publisher.offer(of: purchase) != wanted { return false }
    let decision = OwnershipDecision.decide(
      purchase, customerId: customer.id, appAccountToken: customers[customer]?.appAccountToken,
      provesBySignedTransaction: job.signedPurchase == key, policy: publisher.ownership(through: job.door),
      givesAccess: true)
    switch decision {
    case .keep: break
    case .take(.registration):
      trial.give(key, to: customer, .registration, by: job.asker, named: job.tokenName)
    case .take, .refuse: return false
    }
    trial.note(job.attributes, on: key)
    guard let provided = trial.purchases[key], Access.of(provided, rules: rules, now: now).isGranted else {
      return false
    }
    trial.touch(key)
    trial.settle(key, publisher, before: nil)
    trial.tellEntitlements(of: customer, rules: rules, .registration, traceparent: job.traceparent)
    trial.tellDoors(known, trial.purchases[key], publisher, traceparent: job.traceparent)
    for follower in followers { trial.tellFollower(follower, publisher, traceparent: job.traceparent) }
    self = trial
    return true
  }

  /// Ends the provision of a purchase once Apple has answered: its evidence confirms the purchase, and its denial
  /// withdraws the access. Apple's silence changes nothing.
  ///
  /// - Returns: whether anything changed.
  mutating func settleProvision(of key: PurchaseKey, _ basis: FinalizationRequest.Basis) -> Bool {
    guard let until = purchases[key]?.provisionalUntil else { return false }
    switch basis {
    case .evidence: provide(key, until: nil)
    case .noEvidence(let code) where code.deniesPurchase && until > now: provide(key, until: now)
    case .noEvidence, .known: return false
    }
    return true
  }
}

extension Publisher {
  fileprivate func offer(of purchase: Purchase) -> OfferId? {
    offers.offer(forProduct: purchase.deciding.productId)?.id
  }
}

extension ResultCode {
  /// Whether Apple's answer says that the purchase is not what it seemed.
  public var deniesPurchase: Bool {
    [.transactionIdNotFound, .verificationFailed, .appMismatch].contains(self)
  }
}
