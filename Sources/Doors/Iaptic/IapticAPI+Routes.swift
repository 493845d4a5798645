import Gateway

extension IapticAPI {
  /// The paths of iaptic's door.
  nonisolated static let routes = [
    DoorRoute(.post, "/v1/validate", "iaptic_validate", takesReceipts: true, validate),
    DoorRoute(.get, "/v2/customers/{applicationUsername}/purchases", "iaptic_purchases", purchases),
    DoorRoute(.get, "/v2/customers", "iaptic_customers", customers),
    DoorRoute(.get, "/v1/customers/{applicationUsername}/subscription", "iaptic_subscription", subscription),
  ]
}

extension PathParameter {
  /// iaptic's name of a customer.
  static let applicationUsername = Self("applicationUsername")
}
