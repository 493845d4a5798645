/// Apple's types of products. The raw value is Apple's `type`.
public enum ProductKind: String, Sendable, CaseIterable {
  /// It renews until it is cancelled.
  case autoRenewable = "Auto-Renewable Subscription"
  /// A pass: bought for a time that the publisher's offer sets.
  case nonRenewing = "Non-Renewing Subscription"
  /// Bought once, kept for good.
  case nonConsumable = "Non-Consumable"
  /// Used up, and bought again.
  case consumable = "Consumable"
}
