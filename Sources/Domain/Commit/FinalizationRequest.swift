/// What a run has found, on its way to the ledger.
public struct Finalization: Sendable {
  public let job: Job
  public let finding: Finding
  /// The publisher at the time of the run; `nil` when its file is gone. Then the commit gives no access and no
  /// purchase, and tells nothing about entitlements.
  public let publisher: Publisher?

  /// Creates a request to finalize a job.
  public init(_ job: Job, _ finding: Finding, publisher: Publisher?) {
    self.job = job
    self.finding = finding
    self.publisher = publisher
  }

  /// What a run has found.
  public enum Finding: Sendable {
    /// Apple has signed this about the purchase.
    case evidence(PurchaseKey, [Evidence])
    /// The ledger knows the purchase well enough: Apple has spoken a moment ago, or the job only moves it.
    case known(PurchaseKey?)
    /// The run ends without evidence. What the ledger knows of the transaction counts for more.
    case concluded(SynchronizationResult)
  }

  /// The purchase that the finding names.
  public var purchaseKey: PurchaseKey? {
    switch finding {
    case .evidence(let key, _): key
    case .known(let key): key
    case .concluded: nil
    }
  }

  /// The purchases whose place the evidence's took.
  public var predecessors: [PurchaseKey] {
    guard case .evidence(let key, let pieces) = finding else { return [] }
    return pieces.compactMap { $0.predecessor(of: key.publisherId) }
  }

  /// The customer of the job.
  public var customerKey: CustomerKey { CustomerKey(publisherId: job.publisherId, id: job.customerId) }

  func rules(for customer: CustomerId) -> AccessRules { publisher?.accessRules(for: customer) ?? .none }
}
