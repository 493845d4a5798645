/// How a synchronization ended.
public struct SynchronizationResult: Sendable, Equatable {
  public var code: ResultCode
  /// Whether the customer may access the offer.
  public var accessGranted: Bool
  /// The offer that the customer may access; `nil` without access.
  public var offerId: OfferId?
  /// Apple's id of the purchase, once verified.
  public var originalTransactionId: OriginalTransactionId?
  /// The environment of the verified data, `Production` or `Sandbox`.
  public var environment: Environment?
  /// The consumable that the transaction bought; `nil` for other products, and without access to the facts.
  public var consumable: ConsumableGrant?

  /// Creates a result.
  public init(
    _ code: ResultCode, accessGranted: Bool = false, offerId: OfferId? = nil,
    originalTransactionId: OriginalTransactionId? = nil, environment: Environment? = nil,
    consumable: ConsumableGrant? = nil
  ) {
    self.code = code
    self.accessGranted = accessGranted
    self.offerId = offerId
    self.originalTransactionId = originalTransactionId
    self.environment = environment
    self.consumable = consumable
  }
}
