import Formats

/// What a commit has read under its locks, and what it will write: the state machine behind every change of a
/// purchase's owner and of access (design.md, order and uniqueness).
///
/// The jobs of a batch change it one after the other. So two jobs about one purchase see each other's effect.
public struct CommitState: Sendable {
  /// The locked purchases.
  public private(set) var purchases: [PurchaseKey: Purchase]
  /// When each transaction was first granted, in milliseconds since 1970.
  public private(set) var firstGrants: [PurchaseKey: [TransactionId: Int64]]
  /// The locked customers.
  public private(set) var customers: [CustomerKey: CustomerRecord]
  /// The latest request for a refund of each transaction that a notice is about.
  public var refundRequests: [RefundRequest.Name: RefundRequest] = [:]
  /// The present decisions of customers who may be concerned by a request for a refund.
  public var consents: [CustomerKey: Consent] = [:]
  /// What the commit writes.
  public internal(set) var changes = Changes()
  /// Milliseconds since 1970.
  public let now: Int64
  /// What the finalization under way does not tell.
  var silence = Silence.none
  /// Numbers for new ownerships that are left.
  public private(set) var subscriptionIds: [Int64]
  private let known: Set<PurchaseKey>
  /// The numbers that jobs may need.
  private let reserved: Int
  private var byTransaction: [TransactionKey: PurchaseKey] = [:]
  private var owned: [CustomerKey: Set<PurchaseKey>] = [:]
  /// The purchases that took the place of each one.
  private var successors: [PurchaseKey: Set<PurchaseKey>] = [:]

  /// A transaction of a publisher's, in whichever environment.
  private struct TransactionKey: Hashable {
    let publisherId: PublisherId
    let id: TransactionId
  }

  /// Creates the state of what was read.
  ///
  /// - Parameters:
  ///   - subscriptionIds: one for each finalization and update of the batch, and some more for purchases that follow
  ///     their predecessor's owner.
  ///   - reserved: how many of them finalizations may need.
  ///   - now: milliseconds since 1970.
  public init(
    purchases: [Purchase], firstGrants: [PurchaseKey: [TransactionId: Int64]] = [:],
    customers: [CustomerKey: CustomerRecord], subscriptionIds: [Int64], reserved: Int = 0, now: Int64
  ) {
    self.reserved = reserved
    self.firstGrants = firstGrants
    self.purchases = Dictionary(
      uniqueKeysWithValues: purchases.map { purchase in
        var purchase = purchase
        if let owner = purchase.owner {
          // The purchase was read before its owner was locked.
          purchase.owner?.sandboxUntil = customers[purchase.key.customer(owner.customerId)]?.sandboxUntil
        }
        return (purchase.key, purchase)
      })
    self.customers = customers
    self.subscriptionIds = subscriptionIds
    self.now = now
    known = Set(purchases.map(\.key))
    // Production comes before the sandbox.
    for purchase in purchases.sorted(by: { $0.key < $1.key }) {
      for id in purchase.transactions.keys { note(id, of: purchase.key) }
      noteSuccessor(purchase)
      if let owner = purchase.owner { owned[purchase.key.customer(owner.customerId), default: []].insert(purchase.key) }
    }
  }

  // MARK: The purchase of a request

  /// The purchase that a request is about: the one that it names, or the one that has the job's transaction.
  func purchase(of request: FinalizationRequest) -> Purchase? {
    let key =
      request.purchaseKey
      ?? byTransaction[TransactionKey(publisherId: request.job.publisherId, id: request.job.transactionId)]
    return key.flatMap { purchases[$0] }
  }

  // MARK: Changes

  /// Adds evidence to its purchase. The ledger keeps older evidence too; it only changes nothing.
  ///
  /// Pieces about another purchase do not count. Nor does a renewal info, as long as no transaction of its purchase is
  /// known: Apple sends both together.
  ///
  /// - Returns: whether it brought news.
  mutating func merge(_ pieces: [Evidence], into key: PurchaseKey) -> Bool {
    let new = pieces.filter { $0.key(of: key.publisherId) == key && purchases[key]?.holds($0) != true }
    guard !new.isEmpty else { return false }
    var news = new
    if purchases[key] == nil {
      guard let purchase = Purchase(key, folding: new) else { return false }
      purchases[key] = purchase
    } else {
      news = new.filter { purchases[key]?.merge($0) == true }
    }
    changes.evidence += new.map { PurchaseEvidence(of: key, $0) }
    for case .transaction(let facts) in news.map(\.facts) {
      changes.transactions[key, default: []].insert(facts.transactionId)
      note(facts.transactionId, of: key)
    }
    if let purchase = purchases[key] { noteSuccessor(purchase) }
    return !news.isEmpty
  }

  private mutating func noteSuccessor(_ purchase: Purchase) {
    if let before = purchase.predecessor { successors[before, default: []].insert(purchase.key) }
  }

  /// Notes which purchase has a transaction.
  private mutating func note(_ transaction: TransactionId, of key: PurchaseKey) {
    let name = TransactionKey(publisherId: key.publisherId, id: transaction)
    if byTransaction[name] == nil { byTransaction[name] = key }
  }

  /// Raises a purchase's version, and writes the purchase.
  mutating func touch(_ key: PurchaseKey) {
    purchases[key]?.version += 1
    purchases[key]?.updatedAt = now
    if known.contains(key) { changes.changedPurchases.insert(key) } else { changes.newPurchases.insert(key) }
    changes.lookedAt.remove(key)
  }

  /// Notes that a purchase was looked at, and did not change. Only its timer is written.
  mutating func look(_ key: PurchaseKey) {
    if known.contains(key), !changes.changedPurchases.contains(key) { changes.lookedAt.insert(key) }
  }

  /// Notes that a notification is applied.
  mutating func note(_ uuid: NotificationUUID, of publisherId: PublisherId, isNews: Bool) {
    changes.notifications.append(AppliedNotification(publisherId: publisherId, uuid: uuid, isNews: isNews))
  }

  /// Notes what follows from a purchase and the present rules: its offer, and when it must be looked at next.
  ///
  /// - Parameters:
  ///   - before: the purchase before the commit; `nil` if it was new.
  ///   - reversed: the transactions whose refund Apple says to have reversed.
  ///   - isConfirmed: whether Apple has just answered a look.
  mutating func settle(
    _ key: PurchaseKey, _ publisher: Publisher?, before: Purchase?, reversed: Set<TransactionId> = [],
    isConfirmed: Bool = false
  ) {
    guard let purchase = purchases[key] else { return }
    changes.offers[key] = publisher?.offers.offer(forProduct: purchase.deciding.productId)?.id
    if let before, purchase.isDoubtful(after: before, reversed: reversed) {
      purchases[key]?.recheckAt = now.adding(PurchaseTimer.doubt)
    } else if isConfirmed, purchase.isRecheckDue(at: now) {
      purchases[key]?.recheckAt = nil
    }
    // Without the publisher's file nobody knows the end of a pass. A month later somebody looks again.
    let timer = publisher?.timer ?? PurchaseTimer(offers: OfferCatalog([]))
    // A doubt stays until Apple has answered a look, whatever else comes meanwhile.
    let recheck = purchases[key]?.recheckAt.map { PurchaseTimer.recheckTime($0, after: now) }
    var looks = [timer.next(after: now, purchase), recheck]
    if before == nil, purchase.waitsForOwner { looks.append(now.adding(PurchaseTimer.handOn)) }
    changes.dueTimes[key] = looks.compactMap(\.self).min()
  }

  /// Gives a purchase that nobody owns to the owner of the one whose place it took, in both directions: an upgrade may
  /// begin a purchase under a new original transaction, and either one may reach the ledger first.
  ///
  /// - Returns: the purchases that have an owner now.
  mutating func handOn(_ key: PurchaseKey) -> [PurchaseKey] {
    var given: [PurchaseKey] = []
    if let purchase = purchases[key], purchase.owner == nil, !purchase.hadOwner,
      let before = purchase.predecessor.flatMap({ purchases[$0] }),
      let owner = before.owner, mayGive
    {
      give(key, to: key.customer(owner.customerId), .upgrade, by: .publisher)
      given.append(key)
    }
    guard let owner = purchases[key]?.owner else { return given }
    for next in (successors[key] ?? []).sorted() {
      guard let follower = purchases[next], follower.owner == nil, !follower.hadOwner, mayGive else { continue }
      give(next, to: next.customer(owner.customerId), .upgrade, by: .publisher)
      given.append(next)
    }
    return given
  }

  /// Whether a number is left for an ownership that no job asks for. A hand-on that finds none follows with the next
  /// commit about one of the purchases.
  var mayGive: Bool { subscriptionIds.count > reserved }

  /// Gives a purchase to a customer. The ownership before it ends.
  ///
  /// From then on the ledger has a row of the customer, whose lock guards the customer's purchases.
  mutating func give(
    _ key: PurchaseKey, to customer: CustomerKey, _ cause: OwnershipCause, by asker: Job.Asker,
    named tokenName: String? = nil
  ) {
    if let owner = purchases[key]?.owner {
      changes.endedOwnerships.append(owner.subscriptionId)
      owned[key.customer(owner.customerId)]?.remove(key)
      purchases[key]?.forgetPerson()
    }
    let id = subscriptionIds.removeLast()
    purchases[key]?.owner = Owner(
      customerId: customer.id, subscriptionId: id, sandboxUntil: customers[customer]?.sandboxUntil)
    purchases[key]?.hadOwner = true
    owned[customer, default: []].insert(key)
    welcome(customer)
    changes.begunOwnerships.append(
      Ownership(
        subscriptionId: id, purchase: key, customerId: customer.id, cause: cause, asker: asker, tokenName: tokenName))
  }

  /// Makes a customer known. The versions of a customer who comes back after an erasure are greater than all before it:
  /// they name events.
  mutating func welcome(_ customer: CustomerKey) {
    var record = customers[customer] ?? CustomerRecord()
    let version = max(record.version, record.erasedAt ?? 0)
    guard !record.isKnown || version != record.version else { return }
    record.version = version
    customers[customer] = record
    changes.customers.insert(customer)
  }

  /// The present rules for a locked customer.
  func rules(for customer: CustomerKey, _ publisher: Publisher) -> AccessRules {
    publisher.accessRules(for: customer.id, sandboxUntil: customers[customer]?.sandboxUntil)
  }

  /// Notes what became of a locked customer's access by hand. Its rows are the caller's to write.
  mutating func note(_ record: CustomerRecord, of customer: CustomerKey) { customers[customer] = record }

  /// Takes a purchase from its owner. Nobody owns it afterwards.
  mutating func free(_ key: PurchaseKey) {
    guard let owner = purchases[key]?.owner else { return }
    changes.endedOwnerships.append(owner.subscriptionId)
    owned[key.customer(owner.customerId)]?.remove(key)
    purchases[key]?.owner = nil
    purchases[key]?.hadOwner = true
    purchases[key]?.forgetPerson()
  }

  /// Notes what a client told about a purchase besides.
  mutating func note(_ attributes: PurchaseAttributes?, on key: PurchaseKey) {
    guard let attributes, !attributes.isEmpty else { return }
    purchases[key]?.note(attributes)
  }

  /// Lets a purchase give access although Apple has not answered about it, or ends that; `nil` when Apple has answered.
  mutating func provide(_ key: PurchaseKey, until: Int64?) { purchases[key]?.provisionalUntil = until }

  /// Notes the first grant of a transaction.
  ///
  /// - Returns: whether this is the first one.
  mutating func grantFirst(_ transaction: TransactionId, of key: PurchaseKey) -> Bool {
    guard firstGrants[key]?[transaction] == nil else { return false }
    firstGrants[key, default: [:]][transaction] = now
    changes.transactions[key, default: []].insert(transaction)
    return true
  }

  /// The purchases of a locked customer that may decide, without the consumables that this commit does not touch.
  func holdings(of customer: CustomerKey) -> [Purchase] {
    let others = (customers[customer]?.others ?? []).filter { purchases[$0.key] == nil }
    return others + (owned[customer] ?? []).sorted().compactMap { purchases[$0] }
  }

  /// Compares a customer's entitlements with those told last, and tells the changes.
  mutating func tellEntitlements(
    of customer: CustomerKey, rules: AccessRules, _ cause: EntitlementChange.Cause, traceparent: String?
  ) {
    guard var record = customers[customer] else { return }
    let present = Entitlements.of(
      purchases: holdings(of: customer), grants: record.grants, rules: rules, now: now)
    let differences = EntitlementChange.between(told: record.told, now: present)
    guard !differences.isEmpty else { return }
    record.version += 1
    record.told = present.map(\.told)
    customers[customer] = record
    changes.customers.insert(customer)
    changes.events += differences.filter(silence.tells).map {
      Event(
        of: $0, customer: customer, version: record.version, cause: cause, time: now, traceparent: traceparent)
    }
  }
}

extension Purchase {
  /// Whether the time has come to ask Apple again about doubtful evidence. The clocks of workers differ a little.
  fileprivate func isRecheckDue(at now: Int64) -> Bool {
    recheckAt.map { $0 <= now.adding(PurchaseTimer.pause) } ?? false
  }

  /// Whether the purchase took the place of another one whose owner nobody knows yet.
  fileprivate var waitsForOwner: Bool { owner == nil && !hadOwner && predecessor != nil }

  /// Whether the purchase holds just this piece, so that the ledger has it already.
  fileprivate func holds(_ piece: Evidence) -> Bool {
    switch piece.facts {
    case .transaction(let facts): transactions[facts.transactionId]?.payloadSHA256 == facts.payloadSHA256
    case .renewalInfo(let facts, let reported):
      renewal?.payloadSHA256 == facts.payloadSHA256 && (reported == nil || reported == status)
    }
  }
}
