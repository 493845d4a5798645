import Domain
import HTTPServer

extension Route {
  /// The paths of Cleeng's StoreKit 1 contract. Cleeng serves them from several hosts.
  static let cleeng = [
    Route(.post, "/apple/payment", under: nil, "cleeng_payment", .door(.cleeng, takesReceipts: true, CleengAPI.pay)),
    Route(.get, "/entitlements/{offerId}", under: nil, "cleeng_entitlement", .door(.cleeng, CleengAPI.entitlement)),
    Route(
      .get, "/3.1/entitlements/customer_id/{customerId}/offer_id/{offerId}", under: "3.1", "cleeng_entitlement",
      .door(.cleeng, CleengAPI.customersEntitlement)),
    Route(.post, "/3.1/json-rpc", under: "3.1", "cleeng_json_rpc", .door(.cleeng, CleengRPC.answer)),
    // Cleeng's SDKs still call the version before.
    Route(.post, "/3.0/json-rpc", under: nil, "cleeng_json_rpc", .door(.cleeng, CleengRPC.answer)),
  ]
}
