/// News about a purchase that no registration brought: a notification of Apple's, or a look by a timer.
public struct PurchaseUpdate: Sendable {
  /// The purchase.
  public let key: PurchaseKey
  /// What Apple has signed about it; empty if a look could not ask Apple, or Apple had nothing to say.
  public let evidence: [Evidence]
  /// Where the news come from.
  public let source: Source
  /// The publisher at the time of the run.
  public let publisher: Publisher
  /// Whether the first reading of an app's Notification History brought the news (decision 0063).
  public let isPast: Bool
  /// What a notification tells about a refund; `nil` for most.
  public let refund: RefundNotice?
  /// The trace to continue.
  public let traceparent: String?

  /// Where news come from.
  public enum Source: Sendable {
    /// A notification under Apple's UUID, with the reason that its type names; `nil` for a type that names none.
    case notification(uuid: NotificationUUID, reason: LifeCycleReason?)
    /// A timer was due, and Apple was asked, or could not be.
    case timer(Answer)

    /// Whether a timer asked for the news, and so nobody waits.
    public var isTimer: Bool { if case .timer = self { true } else { false } }
  }

  /// What became of a look.
  public enum Answer: Sendable, Equatable {
    /// Apple answered, or needed not be asked.
    case told
    /// Apple does not know the purchase. One of its servers may lag, so that is no confirmation.
    case unknown
    /// Apple could not be asked. The next look comes at this time, in milliseconds since 1970; `nil` lets the timer
    /// decide: the longer Apple has not answered, the later.
    case away(until: Int64?)
  }

  /// Creates an update.
  public init(
    _ key: PurchaseKey, _ evidence: [Evidence], from source: Source, publisher: Publisher, isPast: Bool = false,
    refund: RefundNotice? = nil, traceparent: String? = nil
  ) {
    self.key = key
    self.evidence = evidence
    self.source = source
    self.publisher = publisher
    self.isPast = isPast
    self.refund = refund
    self.traceparent = traceparent
  }

  /// The purchases that these took the place of.
  public var predecessors: [PurchaseKey] { evidence.compactMap { $0.predecessor(of: key.publisherId) } }

  /// The UUIDs by which Apple signed for its customers.
  public var appAccountTokens: [AppAccountToken] {
    evidence.compactMap { piece in
      if case .transaction(let facts) = piece.facts { facts.appAccountToken } else { nil }
    }
  }
}

extension Evidence {
  /// The purchase whose place this one's took with an upgrade; `nil` for nearly all.
  public func predecessor(of publisherId: PublisherId) -> PurchaseKey? {
    guard case .transaction(let facts) = facts, let id = facts.previousOriginalTransactionId else { return nil }
    return PurchaseKey(publisherId: publisherId, environment: facts.environment, originalTransactionId: id)
  }
}
