import Domain

extension EventTopic {
  /// A customer's purchases changed, or were verified again.
  static let purchasesUpdated: EventTopic = "purchases.updated"
}
