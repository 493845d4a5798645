import Postgres

extension PostgresStatement {
  static let readRules = PostgresStatement(
    "read rules",
    """
    SELECT publisher_id, rules_sha256, evaluated_through IS NOT NULL AS is_open FROM publisher_rules
    WHERE publisher_id = ANY($1)
    """)

  /// Begins with the first customer, unless another worker has changed the row since this one looked ($3).
  static let beginEvaluation = PostgresStatement(
    "begin evaluation",
    """
    INSERT INTO publisher_rules AS r (publisher_id, rules_sha256, evaluated_through) VALUES ($1, $2, '')
    ON CONFLICT (publisher_id) DO UPDATE SET rules_sha256 = excluded.rules_sha256, evaluated_through = ''
      WHERE r.rules_sha256 = $3
    """)

  /// One worker evaluates at a time: the others skip the locked row.
  static let lockRules = PostgresStatement(
    "lock rules",
    """
    SELECT evaluated_through FROM publisher_rules
    WHERE publisher_id = $1 AND rules_sha256 = $2 AND evaluated_through IS NOT NULL FOR UPDATE SKIP LOCKED
    """)

  static let noteProgress = PostgresStatement(
    "note progress", "UPDATE publisher_rules SET evaluated_through = $2 WHERE publisher_id = $1")

  static let nextOwners = PostgresStatement(
    "next owners",
    """
    (SELECT DISTINCT customer_id FROM purchases WHERE publisher_id = $1 AND customer_id > $2
      ORDER BY customer_id LIMIT 100)
    UNION
    (SELECT DISTINCT customer_id FROM grants WHERE publisher_id = $1 AND customer_id > $2 AND due_at IS NOT NULL
      ORDER BY customer_id LIMIT 100)
    ORDER BY customer_id LIMIT 100
    """)

  /// Commits lock purchases before customers, too, and in the order of their keys.
  static let lockOwnedByOwners = PostgresStatement(
    "lock owned by owners",
    """
    SELECT \(PurchaseRow.table.selected("p")) FROM purchases p
    WHERE p.publisher_id = $1 AND p.customer_id = ANY($2) AND p.kind <> 'Consumable'
    ORDER BY p.publisher_id, p.environment, p.original_transaction_id FOR NO KEY UPDATE
    """)

  static let lockOwners = PostgresStatement(
    "lock owners",
    """
    SELECT \(CustomerRow.table.selected("c")) FROM unnest($2::text[]) AS n (id)
      JOIN customers c ON c.publisher_id = $1 AND c.id = n.id
    ORDER BY c.id FOR NO KEY UPDATE OF c
    """)

  private static let owners = "(SELECT $1::bigint AS publisher_id, id AS customer_id FROM unnest($2::text[]) AS n (id))"

  static let readOwnedByOwners = PostgresStatement("read owned by owners", PurchaseRow.owned(by: owners))

  static let readGrantsOfOwners = PostgresStatement("read grants of owners", GrantRow.open(of: owners))

  static let readSandboxAccessOfOwners = PostgresStatement(
    "read sandbox access of owners", SandboxOverrideRow.open(of: owners))
}

extension PurchaseRow {
  static let dueTimes = table.only("due_at")

  /// Lets nobody wait longer than the present rules say. A look that comes too early sets the timer right.
  static let bringForward = PostgresStatement(
    "bring timers forward",
    """
    UPDATE purchases t SET \(dueTimes.assignments) FROM \(dueTimes.source)
    WHERE \(dueTimes.isSame) AND (t.due_at IS NULL OR t.due_at > n.due_at)
    """)
}
