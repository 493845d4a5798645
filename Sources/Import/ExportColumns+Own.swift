public import Domain

/// The presets that are no door's.
extension ExportColumns {
  /// A table of one's own.
  public static let plain = ExportColumns(
    .plain,
    [
      .customer: ["customer_id"], .transaction: ["transaction_id"], .original: ["original_transaction_id"],
      .signed: ["signed_transaction"], .receipt: ["app_receipt"], .verify: ["verify"], .offer: ["offer"],
      .purchasedAt: ["purchased_at"], .expiresAt: ["expires_at"], .vendorId: ["vendor_id"],
    ])

  /// An export of RevenueCat's.
  public static let revenuecat = ExportColumns(
    ImportPresetName(rawValue: "revenuecat"),
    [
      .customer: ["rc_original_app_user_id"], .transaction: ["store_transaction_id"],
      .original: ["original_store_transaction_id"], .purchasedAt: ["start_time"],
      .expiresAt: ["effective_end_time", "end_time"], .store: ["store"],
    ])

  /// An export of Countersign's own (``ImportFile/Exported``). It has lines of several kinds, and no columns.
  public static let countersign = ExportColumns(.countersign, [:])
}
