import Domain
import Postgres

/// The columns of `ownerships`.
enum OwnershipRow {
  static func arrays(_ begun: [CommitState.Ownership], at time: Int64) -> [PostgresParameter] {
    let begun = begun.sorted { $0.subscriptionId < $1.subscriptionId }
    return [
      .int64s(begun.map(\.subscriptionId)), .int64s(begun.map(\.purchase.publisherId)),
      .texts(begun.map(\.purchase.environment)), .texts(begun.map(\.purchase.originalTransactionId)),
      .texts(begun.map(\.customerId)), .time(time), .texts(begun.map(\.cause.rawValue)),
    ]
  }

  static let begin = PostgresStatement(
    "begin ownerships",
    """
    INSERT INTO ownerships (subscription_id, publisher_id, environment, original_transaction_id, customer_id, began_at,
      cause)
    SELECT n.subscription_id, n.publisher_id, n.environment, n.original_transaction_id, n.customer_id, $6, n.cause
    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $7::text[])
      AS n (subscription_id, publisher_id, environment, original_transaction_id, customer_id, cause)
    """)

  static let end = PostgresStatement(
    "end ownerships",
    """
    UPDATE ownerships o SET ended_at = $2 FROM unnest($1::bigint[]) AS n (subscription_id)
    WHERE o.subscription_id = n.subscription_id AND o.ended_at IS NULL
    """)

  /// Asks for at least as many new numbers.
  static func nextBlocks(for count: Int64) -> PostgresQuery {
    PostgresQuery(nextBlocks, [.int64((count - 1) / blockSize + 1)])
  }

  /// The numbers of ``nextBlocks(for:)``, the smallest one last: a commit takes them from the end.
  static func numbers(_ rows: PostgresRows) -> [Int64] {
    rows.flatMap { row in row.int64(0).map { Array($0..<($0 + blockSize)) } ?? [] }.sorted(by: >)
  }

  /// The sequence counts in hundreds, so that a worker rarely asks.
  private static let nextBlocks = PostgresStatement(
    "next subscription ids", "SELECT nextval('subscription_ids') FROM generate_series(1, $1)")
  /// The size of a block: the increment of the sequence.
  private static let blockSize: Int64 = 100
}
