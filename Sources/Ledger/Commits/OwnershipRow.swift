import Domain
import Postgres

/// A row of `ownerships`: a period in which a customer owned a purchase.
struct OwnershipRow {
  let begun: CommitState.Ownership
  /// Milliseconds since 1970.
  let beganAt: Int64

  static let table = Table<OwnershipRow>("ownerships", key: ["subscription_id"]) { columns in
    columns.written("subscription_id", .bigint, export: "subscriptionId") { $0.begun.subscriptionId }
    columns.written("publisher_id", .publisher) { $0.begun.purchase.publisherId }
    columns.written("environment", .id(of: Environment.self), export: "environment") { $0.begun.purchase.environment }
    columns.written("original_transaction_id", .id(of: OriginalTransactionId.self), export: "originalTransactionId") {
      $0.begun.purchase.originalTransactionId
    }
    columns.written("customer_id", .id(of: CustomerId.self), isNullable: true, person: .cleared) { $0.begun.customerId }
    columns.written("began_at", .timestamptz, export: "beganAt") { $0.beganAt }
    columns.other("ended_at", "timestamptz", isNullable: true, export: "endedAt")
    columns.written("cause", .text, export: "cause") { $0.begun.cause.rawValue }
  }

  /// The rows of periods that begin, in the order of their numbers.
  static func rows(_ begun: [CommitState.Ownership], at time: Int64) -> [OwnershipRow] {
    begun.sorted { $0.subscriptionId < $1.subscriptionId }.map { OwnershipRow(begun: $0, beganAt: time) }
  }

  static let begin = table.insert("begin ownerships")

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
  static func numbers(_ rows: PostgresRows) throws -> [Int64] {
    try rows.flatMap { row in try row.int64("first").map { Array($0..<($0 + blockSize)) } ?? [] }.sorted(by: >)
  }

  /// The sequence counts in hundreds, so that a worker rarely asks.
  private static let nextBlocks = PostgresStatement(
    "next subscription ids", "SELECT nextval('subscription_ids') AS first FROM generate_series(1, $1)")
  /// The size of a block: the increment of the sequence.
  private static let blockSize: Int64 = 100
}
