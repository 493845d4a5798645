/// The number that names one publisher: `broadcasterId` on the wire.
///
/// It is a type of its own so that no time and no count passes for one. It is an `Int64` only at the edge: in JSON, in
/// the ledger and in messages it is its plain number, and in keys and paths the number's decimal text.
public struct PublisherId: Hashable, Comparable, Sendable {
  /// The id as others write it.
  public let number: Int64

  /// Takes a number as it is.
  @inlinable public init(_ number: Int64) { self.number = number }

  /// Reads a number's decimal text as `Int64` does; `nil` for any other.
  @inlinable public init?(_ text: some StringProtocol) {
    guard let number = Int64(text) else { return nil }
    self.number = number
  }

  /// The order of the numbers.
  @inlinable public static func < (one: Self, other: Self) -> Bool { one.number < other.number }
}

extension PublisherId: LosslessStringConvertible {
  /// The number in decimal, as keys, paths and log lines have it.
  @inlinable public var description: String { String(number) }
}

extension PublisherId: ExpressibleByIntegerLiteral {
  /// Takes the number that a program names, such as `1001` in a test.
  @inlinable public init(integerLiteral number: Int64) { self.init(number) }
}

extension PublisherId: Codable {
  /// Reads a plain number.
  public init(from decoder: any Decoder) throws { self.init(try decoder.singleValueContainer().decode(Int64.self)) }

  /// Writes the plain number.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(number)
  }
}
