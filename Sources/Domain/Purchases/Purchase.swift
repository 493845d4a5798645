import Formats

/// A purchase: the fold of its evidence, and its owner.
///
/// For each transaction, and for the renewal info, the facts with the newer `signedDate` count; on equal dates, those
/// with the greater SHA-256 of their payload. So the same evidence gives the same purchase, in any order and however
/// often a piece comes.
public struct Purchase: Sendable, Equatable {
  public let key: PurchaseKey
  /// The newest facts of each transaction, by `transactionId`. There is at least one.
  public private(set) var transactions: [TransactionId: TransactionFacts]
  /// The newest renewal info.
  public private(set) var renewal: RenewalFacts?
  /// Apple's newest status. It is not signed: see ``isReportedRevoked``.
  public private(set) var status: ReportedStatus?
  /// The transaction that decides about access: see ``deciding(among:)``.
  public private(set) var deciding: TransactionFacts
  /// The customer who owns the purchase.
  public var owner: Owner?
  /// What clients told beside the purchase; `nil` if nothing.
  public var attributes: PurchaseAttributes?
  /// Until when the purchase gives access although Apple has not answered about it, in milliseconds since 1970;
  /// `nil` once Apple has. A time that has passed gives no access (`grantWhileAppleIsAway`).
  public var provisionalUntil: Int64?
  /// When Apple is asked again about evidence that may be wrong, in milliseconds since 1970; `nil` if none is in doubt.
  public var recheckAt: Int64?
  /// Whether anybody has owned the purchase. A released one follows nobody by itself.
  public var hadOwner = false
  /// The version of the purchase in the ledger. It grows with every commit that concerns the purchase.
  public var version: Int64
  /// When the ledger got the purchase, in milliseconds since 1970; `nil` for a purchase that was not read from it.
  public var createdAt: Int64?
  /// When the ledger wrote the purchase last, in milliseconds since 1970; `nil` as for ``createdAt``.
  public var updatedAt: Int64?

  /// The purchase whose place this one took with an upgrade; `nil` for nearly all.
  public var predecessor: PurchaseKey? {
    let named = transactions.values.lazy.compactMap(\.previousOriginalTransactionId)
    guard let id = named.min(), id != key.originalTransactionId else {
      return nil
    }
    return PurchaseKey(publisherId: key.publisherId, environment: key.environment, originalTransactionId: id)
  }

  /// Creates a purchase from what the ledger keeps; `nil` without a transaction.
  public init?(
    _ key: PurchaseKey, transactions: some Collection<TransactionFacts>, renewal: RenewalFacts? = nil,
    status: ReportedStatus? = nil, owner: Owner? = nil, version: Int64 = 0
  ) {
    guard let first = transactions.first else { return nil }
    self.key = key
    self.transactions = [first.transactionId: first]
    deciding = first
    self.renewal = renewal
    self.status = status
    self.owner = owner
    self.version = version
    guard transactions.count > 1 else { return }
    for facts in transactions { _ = keep(facts) }
    deciding = Self.deciding(among: self.transactions.values) ?? first
  }

  /// Folds evidence; `nil` if none of it is a transaction of the purchase. Renewal info alone makes no purchase: it
  /// names neither an app nor a bought product.
  public init?(_ key: PurchaseKey, folding evidence: some Sequence<Evidence>) {
    let own = evidence.filter { $0.key(of: key.publisherId) == key }
    let transactions = own.compactMap { piece -> TransactionFacts? in
      if case .transaction(let facts) = piece.facts { facts } else { nil }
    }
    self.init(key, transactions: transactions)
    for piece in own { _ = merge(piece) }
  }

  /// Merges a piece of evidence. A piece about another purchase changes nothing.
  ///
  /// - Returns: whether anything changed. Data that Apple signed anew is a change, even if only its date is new.
  @discardableResult
  public mutating func merge(_ evidence: Evidence) -> Bool {
    guard evidence.key(of: key.publisherId) == key else { return false }
    switch evidence.facts {
    case .transaction(let facts):
      guard keep(facts) else { return false }
      deciding = Self.deciding(among: transactions.values) ?? facts
      return true
    case .renewalInfo(let facts, let reported):
      var isChanged = false
      if renewal.map(facts.isNewer) ?? true {
        renewal = facts
        isChanged = true
      }
      if let reported, status.map(reported.isNewer) ?? true {
        status = reported
        isChanged = true
      }
      return isChanged
    }
  }

  /// Keeps the facts of a transaction if there are no newer ones.
  private mutating func keep(_ facts: TransactionFacts) -> Bool {
    let id = facts.transactionId
    if let present = transactions[id], !facts.isNewer(than: present) { return false }
    transactions[id] = facts
    return true
  }
}
