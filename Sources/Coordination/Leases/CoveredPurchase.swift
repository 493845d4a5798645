public import Domain

/// A purchase about which Apple has spoken a moment ago.
public struct CoveredPurchase: Sendable, Equatable {
  public let originalTransactionId: OriginalTransactionId
  public let environment: String

  /// Names a purchase.
  public init(originalTransactionId: OriginalTransactionId, environment: String) {
    self.originalTransactionId = originalTransactionId
    self.environment = environment
  }

  /// Whether the record of a transaction can hold it.
  var isStorable: Bool { !originalTransactionId.text.utf8.contains(31) && !environment.utf8.contains(31) }
}
