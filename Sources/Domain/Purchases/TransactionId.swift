import Formats

/// Apple's id of one transaction, `transactionId`: one entry of a purchase.
public struct TransactionId: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }

  /// Apple's ids have 15 to 20 digits today. Longer ones would only make room for abuse.
  public static let longest = 32

  /// Whether a text has the form of Apple's `transactionId` and `originalTransactionId`: 1 to ``longest`` ASCII digits.
  ///
  /// The id goes into paths and keys unescaped: an id with a slash or a question mark would become another call.
  public static func isValid(_ text: String) -> Bool { text.isASCIIDigits(1...longest) }
}
