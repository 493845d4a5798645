public import Formats

/// A text that names one thing. Only ids of one type compare, and two are equal if they have the same bytes in UTF-8.
///
/// Swift's `String` compares by canonical equivalence (see `ExactText`), and takes any text for any other. So an id is
/// a `String` only at the edge: where a request, a message, a row or a payload of Apple's is read or written. In JSON,
/// in the ledger and in messages an id is its plain text.
public protocol Identifier: Hashable, Comparable, Sendable, Codable, CodingKeyRepresentable, CustomStringConvertible,
  ExpressibleByStringInterpolation
where StringLiteralType == String, StringInterpolation == DefaultStringInterpolation {
  /// The id as others write it.
  var text: String { get }

  /// Takes a text as it is. Who reads it from outside checks its form.
  init(_ text: String)
}

extension Identifier {
  @inlinable public static func == (one: Self, other: Self) -> Bool { one.text.isExactly(other.text) }

  /// The order of the bytes: that of `ORDER BY` with `COLLATE "C"`.
  @inlinable public static func < (one: Self, other: Self) -> Bool { ExactText(one.text) < ExactText(other.text) }

  @inlinable public func hash(into hasher: inout Hasher) { hasher.combine(ExactText(text)) }

  @inlinable public var description: String { text }

  @inlinable public init(stringLiteral text: String) { self.init(text) }
}

extension Identifier {
  public init(from decoder: any Decoder) throws { self.init(try decoder.singleValueContainer().decode(String.self)) }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }

  public var codingKey: any CodingKey { ExactText(text).codingKey }

  public init?(codingKey: some CodingKey) { self.init(codingKey.stringValue) }
}
