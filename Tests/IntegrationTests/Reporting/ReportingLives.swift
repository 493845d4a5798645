import EventLoop
import Postgres

/// Periods of purchases of publisher 7, whose figures for October 2026 are known by hand.
enum ReportingLives {
  private static let columns = """
    publisher_id, environment, original_transaction_id, transaction_id, purchase_date, expires_date, price, currency,
    storefront, kind, offer_type, offer_discount_type, is_upgraded, ownership_type, revocation_date,
    revocation_percentage, revocation_type, product_id, bundle_id, signed_date, payload_sha256
    """

  private static let sub = "Auto-Renewable Subscription"

  /// What stands in a row unless it says otherwise.
  private static func period(
    _ purchase: String, _ transaction: String, from start: String, to end: String?, _ price: Int, _ currency: String,
    publisher: Int = 7, environment: String = "Production", kind: String = sub, trial: Bool = false,
    upgraded: Bool = false, shared: Bool = false, refunded: String? = nil, percentage: Int? = nil
  ) -> String {
    func text(_ value: String?) -> String { value.map { "'\($0)'" } ?? "NULL" }
    let storefront = currency == "EUR" ? "DEU" : "USA"
    return """
      (\(publisher), '\(environment)', '\(purchase)', '\(transaction)', '\(start)Z', \(text(end.map { $0 + "Z" })),
      \(price), '\(currency)', '\(storefront)', '\(kind)', \(trial ? "1, 'FREE_TRIAL'" : "NULL, NULL"), \(upgraded),
      '\(shared ? "FAMILY_SHARED" : "PURCHASED")', \(text(refunded.map { $0 + "Z" })),
      \(percentage.map(String.init) ?? "NULL"), \(refunded == nil ? "NULL" : "'REFUND_FULL'"), 'product', 'com.example',
      '\(start)Z', '')
      """
  }

  private static let rows = [
    // Paid before, during and behind October.
    period("1000", "1000", from: "2026-09-15 00:00", to: "2026-10-15 00:00", 9990, "USD"),
    period("1000", "1001", from: "2026-10-15 00:00", to: "2026-11-15 00:00", 9990, "USD"),
    // Lapses on October 20.
    period("2000", "2000", from: "2026-09-20 00:00", to: "2026-10-20 00:00", 9990, "USD"),
    // A year.
    period("3000", "3000", from: "2026-03-01 00:00", to: "2027-03-01 00:00", 59990, "EUR"),
    // A trial that ends on October 5, and converts.
    period("4000", "4000", from: "2026-09-28 00:00", to: "2026-10-05 00:00", 0, "USD", trial: true),
    period("4000", "4001", from: "2026-10-05 00:00", to: "2026-11-05 00:00", 9990, "USD"),
    // A trial that does not.
    period("5000", "5000", from: "2026-10-10 00:00", to: "2026-10-17 00:00", 0, "USD", trial: true),
    // Refunded on October 3: lost in October.
    period("6000", "6000", from: "2026-09-10 00:00", to: "2026-10-10 00:00", 9990, "EUR", refunded: "2026-10-03 09:00"),
    // Half of 4.99 is refunded.
    period(
      "7000", "7000", from: "2026-10-08 00:00", to: nil, 4990, "EUR", kind: "Consumable", refunded: "2026-10-12 00:00",
      percentage: 50000),
    // A week that runs when November begins.
    period("8000", "8000", from: "2026-10-29 00:00", to: "2026-11-05 00:00", 1990, "USD"),
    // An upgrade in October.
    period("9000", "9000", from: "2026-09-15 00:00", to: "2026-10-15 00:00", 9990, "USD"),
    period("9000", "9001", from: "2026-10-15 00:00", to: "2026-11-15 00:00", 9990, "USD", upgraded: true),
    period("9000", "9002", from: "2026-10-20 00:00", to: "2026-11-20 00:00", 19990, "USD"),
    // A refund in the last second of October, and one in November's first.
    period(
      "9100", "9100", from: "2026-10-30 00:00", to: nil, 990, "USD", kind: "Consumable", refunded: "2026-10-31 23:59:59"
    ),
    period(
      "9200", "9200", from: "2026-10-30 00:00", to: nil, 990, "USD", kind: "Consumable", refunded: "2026-11-01 00:00"),
    // These count nowhere: a family's, a sandbox's, another publisher's.
    period("9300", "9300", from: "2026-09-15 00:00", to: "2026-11-15 00:00", 9990, "USD", shared: true),
    period(
      "9400", "9400", from: "2026-09-15 00:00", to: "2026-11-15 00:00", 9990, "USD", environment: "Sandbox",
      refunded: "2026-10-05 00:00"),
    period(
      "9500", "9500", from: "2026-09-15 00:00", to: "2026-10-15 00:00", 9990, "USD", publisher: 8,
      refunded: "2026-10-05 00:00"),
  ]

  /// Writes them into a ledger.
  @LoopActor
  static func write(to ledger: PostgresClient) async throws {
    try await ledger.execute("INSERT INTO transactions (\(columns)) VALUES \(rows.joined(separator: ",\n"))")
  }
}
