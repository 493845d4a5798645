extension CommitState {
  /// The rows that a commit writes.
  public struct Changes: Sendable {
    /// Purchases without a row.
    public var newPurchases: Set<PurchaseKey> = []
    /// Purchases with a row.
    public var changedPurchases: Set<PurchaseKey> = []
    /// The offer that each touched purchase gives, by the present offers.
    public var offers: [PurchaseKey: OfferId] = [:]
    /// When each purchase must be looked at next, in milliseconds since 1970; a purchase without a time has no timer.
    public var dueTimes: [PurchaseKey: Int64] = [:]
    /// Purchases with a row of which only the timer changes.
    public var lookedAt: Set<PurchaseKey> = []
    /// The notifications that the commit has applied.
    public var notifications: [AppliedNotification] = []
    /// Transactions with new facts.
    public var transactions: [PurchaseKey: Set<TransactionId>] = [:]
    public var evidence: [PurchaseEvidence] = []
    public var customers: Set<CustomerKey> = []
    public var begunOwnerships: [Ownership] = []
    /// The subscriptionIds of ownerships that end.
    public var endedOwnerships: [Int64] = []
    public var synchronizations: [Synchronization] = []
    /// Requests for refunds that are new or have changed, by their ids.
    public var refundRequests: [RefundRequestId: RefundRequest] = [:]
    /// Those of them that have no row.
    public var newRefundRequests: Set<RefundRequestId> = []
    /// Those of them that Apple has only asked about again.
    public var seenRefundRequests: Set<RefundRequestId> = []
    public var events: [Event] = []
  }

  /// A notification that a commit has applied.
  public struct AppliedNotification: Sendable, Equatable {
    public let publisherId: PublisherId
    public let uuid: NotificationUUID
    /// Whether it brought news. A stale one, and a repeated one, changes nothing.
    public let isNews: Bool

    /// Creates a row.
    public init(publisherId: PublisherId, uuid: NotificationUUID, isNews: Bool) {
      self.publisherId = publisherId
      self.uuid = uuid
      self.isNews = isNews
    }
  }

  /// A period in which a customer owns a purchase.
  public struct Ownership: Sendable, Equatable {
    public let subscriptionId: Int64
    public let purchase: PurchaseKey
    public let customerId: CustomerId
    public let cause: OwnershipCause
    /// Whose credential asked for it.
    public let asker: Job.Asker
    /// The name of the publisher's token that asked for it.
    public let tokenName: String?

    /// Creates a period.
    public init(
      subscriptionId: Int64, purchase: PurchaseKey, customerId: CustomerId, cause: OwnershipCause,
      asker: Job.Asker = .publisher, tokenName: String? = nil
    ) {
      self.subscriptionId = subscriptionId
      self.purchase = purchase
      self.customerId = customerId
      self.cause = cause
      self.asker = asker
      self.tokenName = tokenName
    }
  }
}
