import Formats

/// A customer's wish to get the money for a transaction back, and what became of Apple's question about it.
///
/// Apple asks by `CONSUMPTION_REQUEST`, and repeats the question under new UUIDs until somebody answers. All of them
/// are one request.
public struct RefundRequest: Sendable, Equatable {
  /// How far the answer is.
  public enum State: String, Sendable, CaseIterable {
    /// The publisher may answer.
    case open
    /// A worker sends the answer, or tries to.
    case sending
    /// Apple has the answer.
    case answered
    /// The publisher does not answer.
    case withheld
    /// Apple does not take the answer. The publisher may send another one.
    case refused
    /// Apple decided before it had an answer.
    case decided
    /// The deadline passed without an answer.
    case expired

    /// Whether something is still to be done before the deadline.
    public var isPending: Bool { self == .open || self == .sending }

    /// Whether Apple has no answer, and has not decided: its decision is still to come.
    public var awaitsDecision: Bool { isPending || self == .withheld || self == .refused }
  }

  /// Who chose the answer.
  public enum Answerer: String, Sendable, CaseIterable { case policy, publisher }

  /// The transaction of a request. At most one request about it is pending.
  public struct Name: Hashable, Comparable, Sendable {
    public let publisherId: PublisherId
    public let environment: Environment
    public let transactionId: TransactionId

    /// Names a transaction. `environment` is `Production` or `Sandbox`.
    public init(publisherId: PublisherId, environment: Environment, transactionId: TransactionId) {
      self.publisherId = publisherId
      self.environment = environment
      self.transactionId = transactionId
    }

    public static func < (one: Name, other: Name) -> Bool {
      (one.publisherId, one.environment, one.transactionId)
        < (other.publisherId, other.environment, other.transactionId)
    }
  }

  public var id: RefundRequestId
  public var purchase: PurchaseKey
  public var transactionId: TransactionId
  public var bundleId: BundleId
  public var productId: ProductId
  public var kind: ProductKind
  /// The owner when Apple asked; `nil` if nobody owned the purchase, and after an erasure.
  public var customerId: CustomerId?
  /// Apple's name of the customer's reason; an open set.
  public var reason: String?
  /// When Apple signed the first question, in milliseconds since 1970.
  public var requestedAt: Int64
  /// When Apple signed the newest question, in milliseconds since 1970.
  public var seenAt: Int64
  public var state: State
  public var answer: ConsumptionAnswer?
  public var answeredBy: Answerer?
  /// The customer's consent that the answer rests on; `nil` where the publisher vouches for it.
  public var consent: Consent?
  /// The calls to Apple so far.
  public var attempts: Int
  /// Why the last call did not succeed.
  public var lastError: String?
  /// When a worker must look next, in milliseconds since 1970; `nil` if there is nothing to do.
  public var dueAt: Int64?
  /// When it came to its end, in milliseconds since 1970: for a decision of Apple's, when Apple signed it.
  public var endedAt: Int64?

  /// Apple waits for twelve hours (Apple: "Send Consumption Information").
  public static let patience: Int64 = 12 * 3_600_000

  /// Creates a request.
  public init(
    id: RefundRequestId, purchase: PurchaseKey, transactionId: TransactionId, bundleId: BundleId, productId: ProductId,
    kind: ProductKind,
    customerId: CustomerId?, reason: String?, requestedAt: Int64, seenAt: Int64? = nil, state: State = .open,
    answer: ConsumptionAnswer? = nil, answeredBy: Answerer? = nil, consent: Consent? = nil, attempts: Int = 0,
    lastError: String? = nil, dueAt: Int64? = nil, endedAt: Int64? = nil
  ) {
    self.id = id
    self.purchase = purchase
    self.transactionId = transactionId
    self.bundleId = bundleId
    self.productId = productId
    self.kind = kind
    self.customerId = customerId
    self.reason = reason
    self.requestedAt = requestedAt
    self.seenAt = seenAt ?? requestedAt
    self.state = state
    self.answer = answer
    self.answeredBy = answeredBy
    self.consent = consent
    self.attempts = attempts
    self.lastError = lastError
    self.dueAt = dueAt
    self.endedAt = endedAt
  }

  /// The end of Apple's patience, in milliseconds since 1970. No repeated question moves it.
  public var deadline: Int64 { requestedAt.adding(Self.patience) }

  /// The transaction.
  public var name: Name {
    Name(publisherId: purchase.publisherId, environment: purchase.environment, transactionId: transactionId)
  }

  /// Begins a request about a transaction; the publisher may answer it.
  public init(_ facts: TransactionFacts, of purchase: Purchase, reason: String?, requestedAt: Int64) {
    let key = purchase.key
    self.init(
      id: RefundRequestId(of: facts.transactionId, in: key, requestedAt: requestedAt), purchase: key,
      transactionId: facts.transactionId, bundleId: facts.bundleId, productId: facts.productId, kind: facts.kind,
      customerId: purchase.owner?.customerId, reason: reason, requestedAt: requestedAt,
      dueAt: requestedAt.adding(Self.patience))
  }
}
