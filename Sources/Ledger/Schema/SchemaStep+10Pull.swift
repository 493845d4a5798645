extension SchemaStep {
  /// The order of events for those who read them by pull (docs/decisions/0049-events-by-pull.md).
  static let ten = SchemaStep(
    number: 10, name: "pull",
    sql: """
      -- An event's position. No event appears before a position that a reader may have passed: a reader passes only
      -- positions up to the oldest running transaction, and an event's position lies behind its own transaction.
      -- Events from before this step have none.
      ALTER TABLE events ADD COLUMN horizon bigint, ADD COLUMN place bigint;
      CREATE SEQUENCE event_places;
      -- Builds that do not know the columns write them too.
      ALTER TABLE events
        ALTER COLUMN horizon SET DEFAULT greatest(
          pg_snapshot_xmax(pg_current_snapshot())::text::bigint, pg_current_xact_id()::text::bigint + 1),
        ALTER COLUMN place SET DEFAULT nextval('event_places');
      CREATE INDEX events_pull ON events (publisher_id, horizon, place) WHERE horizon IS NOT NULL AND NOT erased;
      -- Up to where the events of a publisher are deleted because of their age.
      CREATE TABLE event_floors (
        publisher_id bigint PRIMARY KEY,
        horizon bigint NOT NULL,
        place bigint NOT NULL
      );
      """)
}
