import Gateway

extension CleengAPI {
  /// The paths of Cleeng's StoreKit 1 contract. Cleeng serves them from several hosts.
  nonisolated static let routes = [
    DoorRoute(.post, "/apple/payment", "cleeng_payment", takesReceipts: true, pay),
    DoorRoute(.get, "/entitlements/{offerId}", "cleeng_entitlement", entitlement),
    DoorRoute(
      .get, "/3.1/entitlements/customer_id/{customerId}/offer_id/{offerId}", under: "3.1",
      "cleeng_entitlement", customersEntitlement),
    DoorRoute(.post, "/3.1/json-rpc", under: "3.1", "cleeng_json_rpc", CleengRPC.answer),
    // Cleeng's SDKs still call the version before.
    DoorRoute(.post, "/3.0/json-rpc", "cleeng_json_rpc", CleengRPC.answer),
  ]
}
