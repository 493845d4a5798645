/// Where a name or a credential leads.
public enum PublisherLookUp<Value: Sendable>: Sendable {
  case found(Value)
  /// It is, or may be, that of a publisher whose file has a mistake. Another time it may be found.
  case broken
  case unknown

  /// What was found; `nil` otherwise.
  public var found: Value? { if case .found(let value) = self { value } else { nil } }

  /// Returns this answer, or the one of a further place to look if that tells more.
  public func or(_ other: Self) -> Self {
    switch (self, other) {
    case (.found, _), (_, .unknown): self
    case (_, .found), (_, .broken): other
    }
  }

  /// Changes what was found.
  public func map<Other: Sendable>(_ change: (Value) -> Other) -> PublisherLookUp<Other> {
    switch self {
    case .found(let value): .found(change(value))
    case .broken: .broken
    case .unknown: .unknown
    }
  }
}

/// A publisher, with the one of its tokens that a caller sent.
public struct TokenHolder: Sendable {
  public let publisher: Publisher
  public let token: PublisherToken
}

/// A publisher, with what the secret stands for that a caller of a door sent.
public struct SecretHolder: Sendable {
  public let publisher: Publisher
  /// In the door's own words; may be empty.
  public let holder: String
}
