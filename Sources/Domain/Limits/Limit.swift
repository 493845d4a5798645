/// A limit of a publisher or of a customer; a label of a metric, so a small closed set.
public enum Limit: String, Sendable, CaseIterable {
  case publisherRate = "publisher_rate"
  case customerRate = "customer_rate"
  case customerOpen = "customer_open"
  case publisherOpen = "publisher_open"
  case publisherReads = "publisher_reads"
  case customerReads = "customer_reads"
  case publisherWrites = "publisher_writes"
  case publisherReplays = "publisher_replays"
  case eventWaits = "event_waits"
  case exports
  case imports
  case importReports = "import_reports"
  case customerGrants = "customer_grants"
  case publisherGrants = "publisher_grants"
  case sandboxAccess = "sandbox_access"
  case webhookEndpoints = "webhook_endpoints"
  case orderLookups = "order_lookups"
  case orderShare = "order_share"

  /// The limits that a registration may meet.
  public static let ofRegistrations: [Limit] = [.publisherRate, .customerRate, .customerOpen, .publisherOpen]
}
