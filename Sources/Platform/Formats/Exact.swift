/// Makes the `==` that the compiler writes compare a property by its bytes: `@Exact var note: String?`.
@propertyWrapper
public struct Exact<Value: ExactlyComparable & Sendable>: Equatable, Sendable {
  /// The property itself.
  public var wrappedValue: Value

  /// Wraps a value.
  public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

  public static func == (one: Exact, other: Exact) -> Bool { one.wrappedValue.isExactly(other.wrappedValue) }
}

/// A type whose values can be compared by their bytes in UTF-8, as `==` of `String` does not.
public protocol ExactlyComparable {
  /// Whether both have the same bytes in UTF-8.
  func isExactly(_ other: Self) -> Bool
}

extension String: ExactlyComparable {
  @inlinable public func isExactly(_ other: String) -> Bool { ExactText(self) == ExactText(other) }
}

extension Optional: ExactlyComparable where Wrapped: ExactlyComparable {
  @inlinable
  public func isExactly(_ other: Wrapped?) -> Bool {
    switch (self, other) {
    case (let one?, let other?): one.isExactly(other)
    case (nil, nil): true
    default: false
    }
  }
}

extension Array: ExactlyComparable where Element: ExactlyComparable {
  public func isExactly(_ other: [Element]) -> Bool {
    count == other.count && zip(self, other).allSatisfy { $0.isExactly($1) }
  }
}
