import Domain

extension ExportColumns {
  /// An export of iaptic's. Its ids are like `apple:1000000001`.
  static let iaptic = ExportColumns(
    ImportPresetName(rawValue: "iaptic"), idPrefix: "apple:",
    [
      .customer: ["applicationUsername"], .transaction: ["transactionId"],
      .original: ["purchaseId", "originalTransactionId"], .purchasedAt: ["purchaseDate"],
      .expiresAt: ["expirationDate"], .store: ["platform"],
    ])
}
