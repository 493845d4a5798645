"""The databases of a benchmark: what a run writes, what it takes on the disk, and purchases made by SQL."""
from fleet.postgres import OWNER, Postgres

# The first number of the purchases that SQL makes. The jobs of a benchmark have smaller ones.
MADE = 1_000_000_000


class MeasuredLedger:
    """The private PostgreSQL of a benchmark, and its present database."""

    def __init__(self, folder, port):
        self.server = Postgres(folder, "postgres", port)
        self.database = "countersign"
        self.created = 0

    @property
    def url(self):
        return self.server.url(self.database)

    def pid(self):
        return self.server.pid()

    def query(self, sql):
        """Runs statements as the owner of the database; returns what they answer."""
        return self.server.query(sql, OWNER, self.database)

    def create(self, keeps):
        """Creates an empty database and returns its name. Drops the present one unless it `keeps` it."""
        self.created += 1
        name = f"bench{self.created}"
        self.server.query(f"CREATE DATABASE {name};", OWNER)
        if not keeps:
            # As the superuser: an autovacuum may be at work in it, which is not the owner's.
            self.server.query(f"DROP DATABASE {self.database} WITH (FORCE);")
        return name

    def tables(self):
        """The tables that hold rows of their own. The one that names the schema's steps is not among them."""
        return self.query(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
            " AND NOT relispartition AND relname NOT LIKE 'schema%' ORDER BY relname").split()

    def empty(self):
        self.query(f"TRUNCATE {', '.join(self.tables())};")

    # -- what a run writes

    def written(self):
        """The transactions that have written and the bytes of WAL so far.

        The counters of `pg_stat_database` and `pg_stat_wal` come up to a second late. These are exact, and count the
        transactions of the whole server, without those that only read.
        """
        return [int(part) for part in self.server.query(
            "SELECT pg_snapshot_xmax(pg_current_snapshot())::text, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"
        ).split("|")]

    def written_since(self, before, jobs):
        commits, wal = (now - then for now, then in zip(self.written(), before))
        return {"commits": commits / jobs, "wal": wal / jobs}

    def last_statement(self, name, table):
        """The text of the last statement about a table that the sessions with a name have run."""
        return self.server.query(
            f"SELECT query FROM pg_stat_activity WHERE application_name = '{name}' AND query ~ '{table}'"
            f" AND datname = '{self.database}' LIMIT 1")

    def sizes(self):
        """The bytes of each table on the disk with its indexes and with what lies outside of its rows."""
        lines = self.query(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
            " AND relkind = 'r' ORDER BY 2 DESC").splitlines()
        return {name: int(size) for name, _, size in (line.partition("|") for line in lines)}

    def count(self, table):
        return int(self.query(f"SELECT count(*) FROM {table}"))

    # -- purchases made by SQL

    def make(self, count, tables=None, part=250_000):
        """Makes so many purchases as copies of one that a worker has committed, without the bytes that Apple signs.

        `tables` names the tables that get rows, each with more columns and their expressions; all of them by default.
        """
        text, number = "n.number::text", "n.number"
        transaction, customer = f"'100' || (10000000000 + {number})", f"'customer-' || {number}"
        digest = f"decode(md5({text}) || md5('x' || {text}), 'hex')"
        purchase = {"original_transaction_id": transaction}
        subscription = {"subscription_id": number}
        replaced = {
            "customers": {"id": customer},
            "purchases": purchase | subscription | {
                "customer_id": customer, "transaction_id": transaction, "payload_sha256": digest},
            "transactions": purchase | {"transaction_id": transaction, "payload_sha256": digest},
            "evidence": purchase | {"payload_sha256": digest, "payload": "''::bytea", "signature": "''::bytea"},
            "ownerships": purchase | subscription | {"customer_id": customer},
            "synchronizations": {
                "id": f"'bench-' || {number}", "transaction_id": transaction, "customer_id": customer,
                "event_id": f"'evt_' || md5({text})"},
            "events": {"id": f"'evt_' || md5({text})", "customer_id": customer},
        }
        for table, more in (tables or dict.fromkeys(replaced, {})).items():
            expressions = replaced[table] | more
            columns = self.query(
                f"SELECT attname FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0"
                " AND NOT attisdropped ORDER BY attnum").split()
            values = ", ".join(expressions.get(column, f"model.{column}") for column in columns)
            for first in range(0, count, part):
                self.query(
                    "SET synchronous_commit = off;\n"
                    f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values}"
                    f" FROM generate_series({MADE + first}, {MADE + min(first + part, count) - 1}) AS n (number),"
                    f" (SELECT * FROM {table} LIMIT 1) AS model;")
        # What autovacuum would do in the middle of the measurement.
        self.server.query("VACUUM (ANALYZE);\nCHECKPOINT;", database=self.database)
