import Glibc

/// A text that equals another one only if both have the same bytes in UTF-8.
///
/// Swift's `String` compares by canonical equivalence: U+212A (KELVIN SIGN) equals `K`, and an `é` of one code point
/// equals one of two. Code must not take a name from outside for another one that only looks like it. Most ids are
/// types (`Domain/Identifier`). Compare every other such text, as the name of a member or of a header, by `isExactly`
/// or in a property that is `@Exact`, and use `ExactText` for the keys of dictionaries and sets.
///
/// A comparison with a constant needs no more than `==` if the constant is ASCII without `K`, `;` and the grave accent:
/// every other ASCII text equals only its own bytes.
public struct ExactText: Hashable, Sendable {
  /// The text itself.
  public let text: String

  /// Takes a text as it is.
  public init(_ text: String) { self.text = text }

  public static func == (one: ExactText, other: ExactText) -> Bool {
    one.text.utf8Span.span.withUnsafeBytes { one in
      other.text.utf8Span.span.withUnsafeBytes { other in
        guard one.count == other.count else { return false }
        guard let first = one.baseAddress, let second = other.baseAddress else { return true }
        return memcmp(first, second, one.count) == 0
      }
    }
  }

  public func hash(into hasher: inout Hasher) {
    text.utf8Span.span.withUnsafeBytes { hasher.combine(bytes: $0) }
    // This byte gives two texts in a row another hash than one text with the characters of both.
    hasher.combine(0xff as UInt8)
  }
}

extension ExactText: Comparable {
  public static func < (one: ExactText, other: ExactText) -> Bool {
    one.text.utf8Span.span.withUnsafeBytes { one in
      other.text.utf8Span.span.withUnsafeBytes { other in
        let common = min(one.count, other.count)
        guard common > 0, let first = one.baseAddress, let second = other.baseAddress else {
          return one.count < other.count
        }
        let order = memcmp(first, second, common)
        return order == 0 ? one.count < other.count : order < 0
      }
    }
  }
}

extension ExactText: CustomStringConvertible, ExpressibleByStringLiteral {
  public init(stringLiteral text: String) { self.text = text }

  public var description: String { text }
}

extension ExactText: Codable {
  public init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

/// The keys of a dictionary are the members of a JSON object.
extension ExactText: CodingKeyRepresentable {
  private struct Member: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  public var codingKey: any CodingKey { Member(stringValue: text) }

  public init?(codingKey: some CodingKey) { text = codingKey.stringValue }
}

extension Dictionary where Key == ExactText {
  /// The value of a name, compared by its bytes.
  public subscript(_ name: String) -> Value? {
    get { self[ExactText(name)] }
    set { self[ExactText(name)] = newValue }
  }
}
