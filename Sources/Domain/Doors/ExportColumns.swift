public import Domain

/// Whose export a file is: which columns have what. docs/how-to/import-purchases.md has a section for each.
public enum ImportPreset: String, Sendable, CaseIterable {
  /// A table of one's own.
  case plain
  case revenuecat, iaptic, cleeng
  /// An export of Countersign's own (``ImportFile/Exported``). It has lines of several kinds, and no columns.
  case countersign

  /// The presets of other systems, whose rows claim until when there is access.
  public static let others = allCases.filter { $0 != .countersign }

  /// The name that an import in the ledger has.
  public var name: ImportPresetName { ImportPresetName(rawValue: rawValue) }

  /// Names for a usage line.
  public static func names(_ presets: [ImportPreset] = allCases) -> String {
    presets.map(\.rawValue).joined(separator: "|")
  }

  /// What a column has.
  enum Field: CaseIterable {
    case customer, transaction, original, signed, receipt, verify, offer, purchasedAt, expiresAt, vendorId, store
  }

  /// The names of the columns that have a field. The first one with a value counts.
  func names(of field: Field) -> [StaticString] {
    switch self {
    case .plain: Self.plainNames(field)
    case .countersign: []
    case .revenuecat:
      switch field {
      case .customer: ["rc_original_app_user_id"]
      case .transaction: ["store_transaction_id"]
      case .original: ["original_store_transaction_id"]
      case .purchasedAt: ["start_time"]
      case .expiresAt: ["effective_end_time", "end_time"]
      case .store: ["store"]
      case .signed, .receipt, .verify, .offer, .vendorId: []
      }
    case .iaptic:
      switch field {
      case .customer: ["applicationUsername"]
      case .transaction: ["transactionId"]
      case .original: ["purchaseId", "originalTransactionId"]
      case .purchasedAt: ["purchaseDate"]
      case .expiresAt: ["expirationDate"]
      case .store: ["platform"]
      case .signed, .receipt, .verify, .offer, .vendorId: []
      }
    // The second names are those of Cleeng's pages.
    case .cleeng:
      switch field {
      case .customer: ["customerId", "Customer ID"]
      case .transaction: ["transactionId"]
      case .original: ["originalTransactionId", "OriginalTransactionID"]
      case .offer: ["offerId", "Offer ID"]
      case .purchasedAt: ["createdAt"]
      case .expiresAt: ["expiresAt", "Expiry date"]
      case .vendorId: ["subscriptionId", "Subscription ID"]
      case .store: ["paymentMethod", "Payment method"]
      case .signed, .receipt, .verify: []
      }
    }
  }

  private static func plainNames(_ field: Field) -> [StaticString] {
    switch field {
    case .customer: ["customer_id"]
    case .transaction: ["transaction_id"]
    case .original: ["original_transaction_id"]
    case .signed: ["signed_transaction"]
    case .receipt: ["app_receipt"]
    case .verify: ["verify"]
    case .offer: ["offer"]
    case .purchasedAt: ["purchased_at"]
    case .expiresAt: ["expires_at"]
    case .vendorId: ["vendor_id"]
    case .store: []
    }
  }

  /// Whether a store, as the vendor names it, is Apple's. Apple Pay is a card, and no store.
  func isApple(_ store: String) -> Bool {
    let name = store.lowercased()
    return ["app_store", "mac_app_store", "ios-appstore", "ios", "itunes"].contains(name)
      || name.contains("apple") && !name.contains("pay")
  }

  /// An id without what the vendor puts before it: iaptic writes `apple:1000000001`.
  func bare(_ id: String) -> String {
    self == .iaptic && id.hasPrefix("apple:") ? String(id.dropFirst("apple:".count)) : id
  }
}
