extension CommitState {
  /// Finalizes a synchronization: evidence, owner, access, result, and the events about them.
  ///
  /// - Returns: the finalized synchronization, and the events to publish, in their order.
  public mutating func finalize(_ request: FinalizationRequest) -> Finalized {
    let (job, firstEvent) = (request.job, changes.events.count)
    let known = purchase(of: request)
    silence = Silence(job, known: known)
    defer { silence = .none }
    var isNews = false
    if case .evidence(let key, let pieces) = request.basis { isNews = merge(pieces, into: key) }
    if let known, settleProvision(of: known.key, request.basis) { isNews = true }
    let before = purchase(of: request)
    var followers: [PurchaseKey] = []
    // An upgrade's purchase belongs to the owner of the one before, whichever of them is registered first.
    if let key = before?.key, request.publisher != nil { followers = handOn(key).filter { $0 != key } }
    let result =
      if isErased(job) {
        SynchronizationResult(
          .customerErased, originalTransactionId: before?.key.originalTransactionId,
          environment: before?.key.environment)
      } else {
        purchase(of: request).map { decide($0, request) } ?? resultWithoutPurchase(request)
      }
    if let key = before?.key {
      if let publisher = request.publisher {
        followers += handOn(key).filter { $0 != key }
        if let known, let present = purchases[key], hasEnded(known, now: present, publisher) { isNews = true }
      }
      if purchases[key]?.owner != before?.owner || purchases[key]?.attributes != before?.attributes { isNews = true }
      if isNews {
        touch(key, after: known, request.publisher)
        settle(key, request.publisher, before: known)
      }
    }
    let now = before.flatMap { purchases[$0.key] }
    let synchronization = Synchronization(
      id: job.synchronizationId, publisherId: job.publisherId, customerId: job.customerId,
      transactionId: job.transactionId, kind: job.kind, status: .finalized,
      result: result, version: now?.version ?? 0, finalizedAt: self.now, traceparent: job.traceparent)
    changes.synchronizations.append(synchronization)
    if !silence.hidesSynchronization, let event = Event(of: synchronization) { changes.events.append(event) }
    // Without the publisher's rules nobody can say what the owner has. What was told stays until somebody can.
    if let publisher = request.publisher {
      tell(before?.owner, now?.owner, request)
      if isNews, !silence.hidesPurchase, let known, let now {
        tellUpdates(known, now, publisher, reason: nil, traceparent: job.traceparent)
      }
      if !silence.hidesPurchase {
        let named = silence.hidesSynchronization ? nil : job
        tellDoors(
          known, now, publisher, job: named, result: named == nil ? nil : result, isNews: isNews,
          traceparent: job.traceparent)
      }
      for key in followers { tellFollower(key, publisher, traceparent: job.traceparent) }
    }
    return Finalized(synchronization: synchronization, events: Array(changes.events[firstEvent...]))
  }

  /// Tells the changed entitlements of the owner before and of the owner after.
  private mutating func tell(_ before: Owner?, _ after: Owner?, _ request: FinalizationRequest) {
    let owners = [before, after].compactMap { $0?.customerId }
    for (number, id) in owners.enumerated() where number == 0 || id != owners[0] {
      let cause: EntitlementChange.Cause =
        if let before, after?.is(before.customerId) != true {
          .transfer
        } else if request.job.kind == .registration, id == request.job.customerId {
          .registration
        } else {
          .evidence
        }
      let customer = CustomerKey(publisherId: request.job.publisherId, id: id)
      tellEntitlements(
        of: customer, rules: rules(for: customer, request), cause, traceparent: request.job.traceparent)
    }
  }

  // MARK: The decision

  private func rules(for customer: CustomerKey, _ request: FinalizationRequest) -> AccessRules {
    request.publisher.map { rules(for: customer, $0) } ?? .none
  }

  private func resultWithoutPurchase(_ request: FinalizationRequest) -> SynchronizationResult {
    switch request.basis {
    case .noEvidence(let code): SynchronizationResult(code)
    case .known where request.job.kind == .transfer: SynchronizationResult(.purchaseNotFound)
    // A covered run found the purchase in Redis, and the ledger has lost it since. That cannot be.
    case .known, .evidence: SynchronizationResult(.internalError)
    }
  }

  /// Whether the customer of a job was erased after the job was registered.
  public func isErased(_ job: Job) -> Bool {
    customers[job.customerKey]?.isErased(for: job) ?? false
  }

  private mutating func decide(_ purchase: Purchase, _ request: FinalizationRequest) -> SynchronizationResult {
    let (customer, job) = (request.customerKey, request.job)
    let about = SynchronizationResult(
      .internalError, originalTransactionId: purchase.key.originalTransactionId, environment: purchase.key.environment)
    func refused(_ code: ResultCode) -> SynchronizationResult {
      var result = about
      result.code = code
      return result
    }
    if case .noEvidence(let code) = request.basis,
      !code.yieldsToEvidence || purchase.provisionalUntil != nil
    {
      return refused(code)
    }
    // Nobody knows what the publisher asks of an owner.
    guard let publisher = request.publisher else { return refused(.internalError) }
    let access = Access.of(purchase, rules: rules(for: customer, request), now: now)
    if job.isUnclaimed { return unclaimed(purchase, access, job) }
    if job.kind == .transfer {
      let decision = TransferDecision.decide(purchase, to: customer.id, givesAccess: access.isGranted)
      if decision == .transferred {
        give(purchase.key, to: customer, .transfer, by: job.asker, named: job.tokenName)
      }
      return .of(access, purchase, decision)
    }
    if let wanted = job.requestedOfferId, access.offerId != wanted {
      return refused(access.offerId == nil ? .offerNotFound : .offerMismatch)
    }
    var decision = OwnershipDecision.decide(
      purchase, customerId: customer.id, appAccountToken: customers[customer]?.appAccountToken,
      provesBySignedTransaction: job.signedPurchase == purchase.key,
      policy: job.imported == nil ? publisher.ownership(through: job.door) : .imported,
      givesAccess: ownerHasAccess(purchase, request))
    // A receipt is kept for years. Through a door it moves only what gives its new owner access, and lasts: a vendor's
    // webhook would let the publisher credit a consumable again.
    if case .take(.restore) = decision, job.door != nil,
      !access.isGranted || purchase.deciding.kind == .consumable
    {
      decision = .refuse(.ownedByAnother)
    }
    if case .take(let cause) = decision {
      give(purchase.key, to: customer, cause, by: job.asker, named: job.tokenName)
    }
    if decision.isOwner { note(job.attributes, on: purchase.key) }
    var result = SynchronizationResult.of(access, purchase, decision)
    result.consumable = consumable(of: purchase, request, isGranted: result.accessGranted)
    return result
  }

  /// The result of a job whose caller named no user. Nobody gets the purchase.
  private mutating func unclaimed(_ purchase: Purchase, _ access: Access, _ job: Job) -> SynchronizationResult {
    if purchase.owner == nil { note(job.attributes, on: purchase.key) }
    var result = SynchronizationResult.of(access, purchase, OwnershipDecision.refuse(.notProven))
    if access.isGranted { result.code = .purchaseUnclaimed }
    return result
  }

  private func ownerHasAccess(_ purchase: Purchase, _ request: FinalizationRequest) -> Bool {
    guard let owner = purchase.owner else { return false }
    let rules = rules(for: purchase.key.customer(owner.customerId), request)
    return Access.of(purchase, rules: rules, now: now).isGranted
  }

  /// What a consumable's event tells besides.
  private mutating func consumable(
    of purchase: Purchase, _ request: FinalizationRequest, isGranted: Bool
  ) -> ConsumableGrant? {
    guard let facts = purchase.transactions[request.job.transactionId], facts.kind == .consumable else {
      return nil
    }
    // What a silent import takes, the publisher has given long ago: nobody gives it again.
    let isFirst = isGranted && grantFirst(facts.transactionId, of: purchase.key) && !silence.hidesSynchronization
    return ConsumableGrant(productId: facts.productId, quantity: facts.quantity ?? 1, isFirstGrant: isFirst)
  }
}

extension ResultCode {
  /// Whether the ledger's evidence of the purchase counts for more. Apple may not know the transaction yet, although it
  /// has told us about it.
  fileprivate var yieldsToEvidence: Bool { self == .transactionIdNotFound }
}

/// A finalized synchronization with the events that its commit tells.
///
/// It is an object, as the request is.
public final class Finalized: Sendable, Equatable {
  public let synchronization: Synchronization
  /// In their order. They are in the outbox until the broker has confirmed them.
  public let events: [Event]

  /// Creates a result.
  public init(synchronization: Synchronization, events: [Event]) {
    self.synchronization = synchronization
    self.events = events
  }

  public static func == (one: Finalized, other: Finalized) -> Bool {
    one === other || one.synchronization == other.synchronization && one.events == other.events
  }
}
