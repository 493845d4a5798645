/// Apple's id of a purchase, `originalTransactionId`, of the form of `transactionId` (``TransactionId/isValid(_:)``).
///
/// Apple names a purchase after its first transaction. So each of these ids is also that of a transaction; the reverse
/// holds for first transactions only.
public struct OriginalTransactionId: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }

  /// The purchase that began with a transaction.
  public init(beginningWith first: TransactionId) { text = first.text }

  /// The purchase's first transaction.
  public var firstTransaction: TransactionId { TransactionId(text) }
}
