/// Asks the ledger to finalize a job on what its run has found.
///
/// It is an object: thousands of suspended runs hold one, and each function between a run and its commit would have a
/// copy of the whole in its frame.
public final class FinalizationRequest: Sendable {
  public let job: Job
  public let basis: Basis
  /// The publisher at the time of the run; `nil` when its file is gone. Then the commit gives no access and no
  /// purchase, and tells nothing about entitlements.
  public let publisher: Publisher?

  /// Creates a request to finalize a job.
  public init(_ job: Job, _ basis: Basis, publisher: Publisher?) {
    self.job = job
    self.basis = basis
    self.publisher = publisher
  }

  /// On what the ledger decides: what the run has found.
  public enum Basis: Sendable {
    /// Apple has signed this about the purchase.
    case evidence(PurchaseKey, [Evidence])
    /// The ledger knows the purchase well enough: Apple has spoken a moment ago, or the job only moves it.
    case known(PurchaseKey?)
    /// The run ends without evidence. What the ledger knows of the transaction counts for more.
    case noEvidence(ResultCode)
  }

  /// The purchase that the basis names.
  public var purchaseKey: PurchaseKey? {
    switch basis {
    case .evidence(let key, _): key
    case .known(let key): key
    case .noEvidence: nil
    }
  }

  /// The purchases whose place the evidence's took.
  public var predecessors: [PurchaseKey] {
    guard case .evidence(let key, let pieces) = basis else { return [] }
    return pieces.compactMap { $0.predecessor(of: key.publisherId) }
  }

  /// The customer of the job.
  public var customerKey: CustomerKey { job.customerKey }
}
