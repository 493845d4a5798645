/// The tables without an entity: each of their statements names the columns that it needs.
///
/// A table with an entity is described in the file of its rows: `PurchaseRow` has the columns of `purchases`.
enum TablesWithoutEntity {
  static let all = [
    Table<Never>("erased_customers", key: ["publisher_id", "id_sha256"]) { columns in
      columns.other("publisher_id", "bigint")
      columns.other("id_sha256", "bytea")
      columns.other("erased_at", "timestamptz")
    },
    Table<Never>("grant_days", key: ["publisher_id"]) { columns in
      columns.other("publisher_id", "bigint")
      columns.other("day", "date")
      columns.other("count", "integer")
    },
    Table<Never>("import_parts", key: ["publisher_id", "import_id", "kind", "place"]) { columns in
      columns.other("publisher_id", "bigint")
      columns.other("import_id", "text")
      columns.other("kind", "text")
      columns.other("place", "bigint")
      columns.other("bytes", "bytea")
    },
    Table<Never>("outbox", key: ["event_id"]) { columns in
      columns.other("event_id", "text")
      columns.other("created_at", "timestamptz")
    },
    Table<Never>("owed_events", key: ["event_id", "subscriber"]) { columns in
      columns.other("event_id", "text")
      columns.other("subscriber", "text")
      columns.other("owed_since", "timestamptz")
      columns.other("due_at", "timestamptz")
      columns.other("tries", "integer")
      columns.other("cause", "text")
    },
    Table<Never>("event_floors", key: ["publisher_id"]) { columns in
      columns.other("publisher_id", "bigint")
      columns.other("horizon", "bigint")
      columns.other("place", "bigint")
    },
    Table<Never>("reporting_keys", key: ["id"]) { columns in
      columns.other("id", "integer")
      columns.other("key", "bytea")
    },
    Table<Never>("deliveries", key: ["event_id", "endpoint_id", "round"]) { columns in
      columns.other("event_id", "text")
      columns.other("endpoint_id", "text")
      columns.other("round", "text")
      columns.other("publisher_id", "bigint")
      columns.other("attempt", "integer")
      columns.other("due_at", "timestamptz")
    },
    Table<Never>("webhook_health", key: ["publisher_id", "endpoint_id"]) { columns in
      columns.other("publisher_id", "bigint")
      columns.other("endpoint_id", "text")
      columns.other("failing_since", "timestamptz", isNullable: true)
      columns.other("disabled_at", "timestamptz", isNullable: true)
      columns.other("disabled_reason", "text", isNullable: true)
    },
    Table<Never>("webhook_revisions", key: ["publisher_id"]) { columns in
      columns.other("publisher_id", "bigint")
      columns.other("revision", "bigint")
    },
    Table<Never>("publisher_rules", key: ["publisher_id"]) { columns in
      columns.other("publisher_id", "bigint")
      columns.other("rules_sha256", "bytea")
      columns.other("evaluated_through", "text", isNullable: true)
    },
    Table<Never>("notification_sources", key: ["publisher_id", "bundle_id", "environment"]) { columns in
      columns.other("publisher_id", "bigint")
      columns.other("bundle_id", "text")
      columns.other("environment", "text")
      columns.other("last_received_at", "timestamptz", isNullable: true)
      columns.other("longest_silence", "interval", isNullable: true)
      columns.other("read_through", "timestamptz", isNullable: true)
      columns.other("reading_at", "timestamptz", isNullable: true)
    },
  ].map(\.description)
}
