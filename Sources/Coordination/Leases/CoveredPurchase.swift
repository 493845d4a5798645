public import Domain

/// A purchase about which Apple has spoken a moment ago.
public struct CoveredPurchase: Sendable, Equatable {
  public let originalTransactionId: OriginalTransactionId
  public let environment: Environment

  /// Names a purchase.
  public init(originalTransactionId: OriginalTransactionId, environment: Environment) {
    self.originalTransactionId = originalTransactionId
    self.environment = environment
  }

  /// Whether the record of a transaction can hold it.
  var isStorable: Bool { !originalTransactionId.text.utf8.contains(31) && !environment.text.utf8.contains(31) }
}
