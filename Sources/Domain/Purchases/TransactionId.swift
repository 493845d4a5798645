/// Apple's id of one transaction, `transactionId`: one entry of a purchase, of the form of ``TransactionIdentifier``.
public struct TransactionId: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }
}
