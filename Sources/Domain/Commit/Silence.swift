/// What a finalization does not tell, because its job is of a silent import (``Job/Import``).
///
/// The commit keeps all evidence, the owner, and what was told of entitlements, so that later news are told as always.
struct Silence: Equatable {
  /// Whether the synchronization itself is told.
  let hidesSynchronization: Bool
  /// Whether the purchase, and the access that it gives, is told. News of a purchase with an owner stay news: its
  /// owner follows it already. So does access that ends.
  let hidesPurchase: Bool

  /// Decides.
  ///
  /// - Parameter known: the purchase before the commit; `nil` if it is new to the ledger.
  init(_ job: Job, known: Purchase?) {
    hidesSynchronization = job.imported == .silent
    hidesPurchase = hidesSynchronization && known?.owner == nil
  }

  /// Nothing is kept back.
  static let none = Silence(hidesSynchronization: false, hidesPurchase: false)

  /// Nothing is told but access that ends.
  static let all = Silence(hidesSynchronization: true, hidesPurchase: true)

  private init(hidesSynchronization: Bool, hidesPurchase: Bool) {
    (self.hidesSynchronization, self.hidesPurchase) = (hidesSynchronization, hidesPurchase)
  }

  /// Whether a changed entitlement is told.
  func tells(_ change: EntitlementChange) -> Bool { !hidesPurchase || change.after?.accessGranted != true }
}
