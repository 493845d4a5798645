/// What a notification of Apple's tells about a customer who wants the money back.
public struct RefundNotice: Sendable, Equatable {
  /// What happened.
  public enum Kind: Sendable, Equatable {
    /// Apple asks about the consumption, with the customer's reason.
    case asked(reason: String?)
    /// Apple has decided: the money is paid back, or not.
    case decided
  }

  public let kind: Kind
  public let transactionId: TransactionId
  /// When Apple signed it, in milliseconds since 1970.
  public let signedDate: Int64

  /// Creates a notice.
  public init(_ kind: Kind, transactionId: TransactionId, signedDate: Int64) {
    self.kind = kind
    self.transactionId = transactionId
    self.signedDate = signedDate
  }
}
