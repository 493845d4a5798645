import Domain

extension EventTopic {
  /// A purchase became known.
  static let inAppPurchaseCreated = "in_app_purchase.created"
  /// A known purchase changed.
  static let inAppPurchaseUpdated = "in_app_purchase.updated"
}
