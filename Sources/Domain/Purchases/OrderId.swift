import Formats

/// Apple's id of an order, as the receipt that Apple sends by e-mail shows it: `MK5TTTVWJH`. An order may have several
/// transactions, and no transaction names its order.
public struct OrderId: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }

  /// Apple's ids have about ten characters today. Longer ones would only make room for abuse.
  public static let longest = 64

  /// Reads what a person wrote: 1 to ``longest`` ASCII letters and digits. Apple writes capitals, a person may not.
  ///
  /// The id goes into a path unescaped: an id with a slash or a question mark would become another call.
  public init?(written text: String) {
    guard (1...Self.longest).contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIILetterOrDigit) else { return nil }
    self.init(String(decoding: text.utf8.map { $0.isASCIILetter ? $0 & 0xdf : $0 }, as: UTF8.self))
  }

  /// Whether Apple may have given the id, in the form in which Apple writes it.
  public var isValid: Bool { OrderId(written: text) == self }
}
