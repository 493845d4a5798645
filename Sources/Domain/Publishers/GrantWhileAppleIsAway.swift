/// Access for evidence that only the gateway has verified, until Apple has answered.
///
/// The evidence is a receipt or a signed transaction. A consumable never gives access this way.
public struct GrantWhileAppleIsAway: Sendable, Equatable {
  /// The longest time of access without an answer of Apple's.
  public static let longestLimit = Duration.seconds(86_400)

  /// How old the evidence may be, counted from its creation.
  public let maxEvidenceAge: Duration
  /// How long the access lasts; at most ``longestLimit``.
  public let limit: Duration

  /// Creates a rule.
  public init(maxEvidenceAge: Duration = .seconds(3600), limit: Duration = longestLimit) {
    self.maxEvidenceAge = maxEvidenceAge
    self.limit = min(limit, Self.longestLimit)
  }
}
