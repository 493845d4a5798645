import Formats

/// A customer's id: the publisher's own text of 1 to 256 bytes in UTF-8.
///
/// Ids are compared by their bytes: `7` and `07` are two customers.
public struct CustomerId: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }

  /// The most bytes of an id.
  public static let longest = 256
  /// The rule as a text for people.
  public static let expectation =
    "expected a text of 1 to \(longest) bytes without control characters, which does not begin with \(erasedPrefix)"
  /// How the text begins that stands in the ledger for an erased customer's id. No customer's id begins so.
  public static let erasedPrefix = "erased:"

  /// The customer of a job whose caller named no user: nobody. The purchase stays unclaimed.
  public static let nobody = CustomerId("")

  /// Whether it stands for the id of an erased customer.
  public var isErased: Bool { text.utf8.starts(with: Self.erasedPrefix.utf8) }

  /// Whether it can name a customer. Control characters cannot: a database refuses some of them, and people see none.
  public var isValid: Bool {
    guard (1...Self.longest).contains(text.utf8.count), !isErased else { return false }
    return text.unicodeScalars.allSatisfy { !$0.isControl }
  }

  /// The id of a customer whom a caller names by a number; `nil` for a number that names none.
  public init?(number: Int64) {
    guard number >= 1 else { return nil }
    self.init(String(number))
  }

  /// The number on the wire, `cleengCustomerId`, of a customer whose id is a decimal number from 1 without a sign and
  /// without leading zeros; `nil` for any other id.
  public var number: Int64? {
    guard text.isASCIIDigits(1...19), text.utf8.first != UInt8(ascii: "0") else { return nil }
    return Int64(text)
  }
}
