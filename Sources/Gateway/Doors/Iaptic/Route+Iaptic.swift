import Domain

extension Route {
  /// The paths of iaptic's door.
  static let iaptic = [
    Route(
      .post, "/v1/validate", under: nil, "iaptic_validate", .door(.iaptic, takesReceipts: true, IapticAPI.validate)),
    Route(
      .get, "/v2/customers/{applicationUsername}/purchases", under: nil, "iaptic_purchases",
      .door(.iaptic, IapticAPI.purchases)),
    Route(.get, "/v2/customers", under: nil, "iaptic_customers", .door(.iaptic, IapticAPI.customers)),
    Route(
      .get, "/v1/customers/{applicationUsername}/subscription", under: nil, "iaptic_subscription",
      .door(.iaptic, IapticAPI.subscription)),
  ]
}
