/// An open set of names that another system writes. Two values are equal if their names have the same bytes.
public protocol ExactRawValue: RawRepresentable, Hashable where RawValue == String {}

extension ExactRawValue {
  @inlinable
  public static func == (one: Self, other: Self) -> Bool { one.rawValue.isExactly(other.rawValue) }

  @inlinable
  public func hash(into hasher: inout Hasher) { hasher.combine(ExactText(rawValue)) }
}
