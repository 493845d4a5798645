import Domain

extension EventTopic {
  /// StoreKit 1: a payment was verified.
  static let validationSucceeded: EventTopic = "inappPurchaseValidationSucceeded"
  /// StoreKit 1: a payment was refused.
  static let validationFailed: EventTopic = "inappPurchaseValidationFailed"
  /// StoreKit 1: a customer's subscription began.
  static let subscriptionCreated: EventTopic = "subscriptionCreated"
  /// StoreKit 1: a customer's subscription ended, or moved to another customer.
  static let subscriptionTerminated: EventTopic = "subscriptionTerminated"
}
