import Domain

extension EventTopic {
  /// A purchase became known.
  static let inAppPurchaseCreated: EventTopic = "in_app_purchase.created"
  /// A known purchase changed.
  static let inAppPurchaseUpdated: EventTopic = "in_app_purchase.updated"
}
