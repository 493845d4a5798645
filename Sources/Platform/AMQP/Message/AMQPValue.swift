/// A header's or an argument's value, in the types that Countersign uses.
public enum AMQPValue: Sendable, Equatable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByBooleanLiteral
{
  case string(String)
  case int(Int64)
  case bool(Bool)
  /// A type that Countersign neither writes nor reads, such as the tables inside `x-death`.
  case other

  /// Creates a string value.
  public init(stringLiteral value: String) { self = .string(value) }
  /// Creates an integer value.
  public init(integerLiteral value: Int64) { self = .int(value) }
  /// Creates a Boolean value.
  public init(booleanLiteral value: Bool) { self = .bool(value) }

  /// The text, if it is one.
  public var string: String? { if case .string(let text) = self { text } else { nil } }
  /// The number, if it is one.
  public var int: Int64? { if case .int(let number) = self { number } else { nil } }
}
