/// A text, or none, that a type compares by its bytes: `@Exact var note: String?`.
///
/// With it the `==` that the compiler writes is right, and no type needs one of its own for the sake of a text.
@propertyWrapper
public struct Exact<Value: ExactlyComparable & Sendable>: Equatable, Sendable {
  public var wrappedValue: Value

  /// Wraps a value.
  public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

  public static func == (one: Exact, other: Exact) -> Bool { one.wrappedValue.isExactly(other.wrappedValue) }
}

/// What `==` compares by canonical equivalence, and what can also be compared by its bytes.
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

extension Sequence<String> {
  /// Whether a text is among these, byte for byte.
  @inlinable public func containsExactly(_ text: String) -> Bool { contains { $0.isExactly(text) } }

  /// Whether two of these have the same bytes.
  public var hasRepetition: Bool {
    var seen: Set<ExactText> = []
    return contains { !seen.insert(ExactText($0)).inserted }
  }
}
