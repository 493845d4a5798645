extension SchemaStep {
  /// What people did by hand to a customer's purchases, events and registrations, for the console's timelines.
  static let seventeen = SchemaStep(
    number: 17, name: "audit of people",
    sql: """
      -- Registrations and renewals write no entry that is in one of these. So they cost the commits of workers nothing,
      -- besides transfers.
      CREATE INDEX audit_purchase ON audit (publisher_id, subject, (- id))
        WHERE action IN ('purchase.checked', 'purchase.released', 'purchase.transferred');
      CREATE INDEX audit_again ON audit (publisher_id, (- id)) WHERE action IN ('event.resent', 'jobs.retried');
      """)
}
