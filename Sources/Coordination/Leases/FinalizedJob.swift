public import Domain

/// A job whose synchronization the ledger has finalized, on its way out of Redis.
public struct FinalizedJob: Sendable, Equatable {
  public let job: Job
  /// The fencing number of the run's lease.
  public let fence: Int64
  /// Where Apple knows the transaction, for later jobs; `nil` keeps what is known.
  public let route: String?
  /// Whether the ledger has a purchase with the transaction. Anybody can name a transaction that nobody knows, so its
  /// record goes soon.
  public let isKnown: Bool
  /// The purchase whose state Apple has just told, for registrations that need no call; `nil` keeps what is known.
  public let fresh: Fresh?

  /// Creates a value.
  public init(job: Job, fence: Int64, route: String? = nil, isKnown: Bool = true, fresh: Fresh? = nil) {
    self.job = job
    self.fence = fence
    self.route = route
    self.isKnown = isKnown
    self.fresh = fresh
  }

  /// A purchase that needs no call to Apple for a while.
  public struct Fresh: Sendable, Equatable {
    public let purchase: CoveredPurchase
    public let duration: Duration

    /// Creates a value; `nil` when the duration is zero or Redis cannot hold the purchase.
    public init?(_ purchase: CoveredPurchase, for duration: Duration) {
      guard duration > .zero, purchase.isStorable else { return nil }
      self.purchase = purchase
      self.duration = duration
    }
  }
}
