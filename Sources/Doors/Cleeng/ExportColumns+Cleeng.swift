import Domain

extension ExportColumns {
  /// An export of Cleeng's. The second names are those of its pages.
  static let cleeng = ExportColumns(
    ImportPresetName(rawValue: "cleeng"),
    [
      .customer: ["customerId", "Customer ID"], .transaction: ["transactionId"],
      .original: ["originalTransactionId", "OriginalTransactionID"], .offer: ["offerId", "Offer ID"],
      .purchasedAt: ["createdAt"], .expiresAt: ["expiresAt", "Expiry date"],
      .vendorId: ["subscriptionId", "Subscription ID"], .store: ["paymentMethod", "Payment method"],
    ])
}
