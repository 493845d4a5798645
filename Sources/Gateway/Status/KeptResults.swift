import Domain
import EventLoop
import Ledger

/// Tells what the results that the ledger keeps are worth now.
@LoopActor
struct KeptResults {
  let purchases: PurchaseReader

  /// Returns a synchronization with the access that its customer has now.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Throws: `PostgresError`.
  func atPresent(_ kept: Synchronization, _ publisher: Publisher, now: Int64) async throws -> Synchronization {
    kept.atPresent(try await purchase(of: kept), publisher, now: now)
  }

  /// Whether the customer of a synchronization still has what its result gave.
  ///
  /// - Throws: `PostgresError`.
  func holds(_ kept: Synchronization) async throws -> Bool { kept.holds(try await purchase(of: kept)) }

  private func purchase(of kept: Synchronization) async throws -> Purchase? {
    guard let key = kept.givingPurchase else { return nil }
    return try await purchases.purchases([key])[key]
  }
}
