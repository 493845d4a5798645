/// A vendor's API that the gateway speaks too.
public enum Door: String, Sendable, CaseIterable {
  /// Cleeng's StoreKit 1 contract, `/apple/payment`.
  case cleeng
  /// The receipt validator of iaptic (Fovea.Billing).
  case iaptic
  /// PlayFab's client API for purchases of the App Store.
  case playfab
  /// Mbaasy's client API for receipts.
  case mbaasy
}
