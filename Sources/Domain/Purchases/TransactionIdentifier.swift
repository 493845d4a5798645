import Formats

/// The form of Apple's `transactionId` and `originalTransactionId`.
public enum TransactionIdentifier {
  /// Apple's ids have 15 to 20 digits today. Longer ones would only make room for abuse.
  public static let longest = 32

  /// Whether a text can be the id of a transaction: 1 to ``longest`` ASCII digits.
  ///
  /// The id goes into paths and keys unescaped: an id with a slash or a question mark would become another call.
  public static func isValid(_ text: String) -> Bool { text.isASCIIDigits(1...longest) }
}
