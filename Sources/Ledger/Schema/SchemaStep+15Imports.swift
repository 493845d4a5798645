extension SchemaStep {
  /// Imports over HTTP, with their files and reports.
  static let fifteen = SchemaStep(
    number: 15, name: "imports",
    sql: """
      -- An import that a publisher has uploaded. A worker that takes it writes `worker` and moves `due_at` forward.
      CREATE TABLE imports (
        publisher_id bigint NOT NULL,
        id text COLLATE "C" NOT NULL,
        state text COLLATE "C" NOT NULL,
        preset text COLLATE "C" NOT NULL,
        share_per_mille integer NOT NULL,         -- of Apple's budget
        tells boolean NOT NULL,
        skips_problems boolean NOT NULL,
        round integer NOT NULL,
        token text COLLATE "C",                   -- the name of the publisher's token
        created_at timestamptz NOT NULL,
        changed_at timestamptz NOT NULL,
        bytes bigint NOT NULL,                    -- of the file
        parts integer NOT NULL,
        row_count bigint,                         -- when the file is read
        done bigint NOT NULL,
        earlier bigint,                           -- rows that had a result before the import began
        rows_per_minute bigint NOT NULL,
        problem_count bigint NOT NULL,
        problems bytea,                           -- the first ones, as JSON
        plan bytea,
        summary bytea,                            -- when there is a report
        cause text,                               -- why a worker could not go on
        due_at timestamptz,                       -- while there is work: when a worker may take it
        worker text COLLATE "C",
        PRIMARY KEY (publisher_id, id)
      );
      CREATE INDEX imports_due ON imports (due_at) WHERE due_at IS NOT NULL;
      CREATE INDEX imports_changed ON imports (changed_at);

      -- The bytes of files and reports. They are written once and read once, so compression is not worth its time.
      CREATE TABLE import_parts (
        publisher_id bigint NOT NULL,
        import_id text COLLATE "C" NOT NULL,
        kind text COLLATE "C" NOT NULL,           -- file, report
        place bigint NOT NULL,                    -- in bytes
        bytes bytea NOT NULL,
        PRIMARY KEY (publisher_id, import_id, kind, place)
      );
      ALTER TABLE import_parts ALTER COLUMN bytes SET STORAGE EXTERNAL;
      """)
}
