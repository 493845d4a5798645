public import Domain
import EventLoop
import Postgres

extension CustomerStore {
  /// A page of a publisher's customers, in the order of their ids.
  public struct Page: Sendable {
    public let ids: [CustomerId]
    /// How many there are, counted to ``CustomerStore/mostCounted``.
    public let total: Int64
  }

  /// Nobody needs to know a greater number, and to count further would read a whole table.
  public static let mostCounted: Int64 = 100_000

  /// Reads a page of a publisher's customers.
  ///
  /// - Parameter prefix: the text with which their ids begin; empty for all.
  public func list(_ publisher: PublisherId, prefix: String, skip: Int, limit: Int) async throws -> Page {
    let end = Self.end(ofPrefix: prefix)
    let rows = try await postgres.run([
      PostgresQuery(
        .listCustomers, [.id(publisher), .text(prefix), .text(end), .int64(Int64(skip)), .int64(Int64(limit))]),
      PostgresQuery(.countCustomers, [.id(publisher), .text(prefix), .text(end), .int64(Self.mostCounted)]),
    ])
    return Page(ids: try rows[0].map { try $0.id("id") ?? "" }, total: try rows[1].first?.int64("count") ?? 0)
  }

  /// The least text that is greater, by bytes, than every customer's id with a prefix.
  ///
  /// So the statement reads a range of the index, and not all customers of the publisher. The order of UTF-8 is that of
  /// code points.
  nonisolated static func end(ofPrefix prefix: String) -> String {
    var scalars = Array(prefix.unicodeScalars)
    while let last = scalars.popLast() {
      // U+D800 to U+DFFF are no characters.
      let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
      guard let next = Unicode.Scalar(next) else { continue }
      return String(String.UnicodeScalarView(scalars + [next]))
    }
    // Longer than an id may be, and of the greatest character.
    return String(repeating: "\u{10FFFF}", count: CustomerId.longest / 4 + 1)
  }
}

extension PostgresStatement {
  fileprivate static let listCustomers = PostgresStatement(
    "list customers",
    """
    SELECT id FROM customers WHERE publisher_id = $1 AND id >= $2 AND id < $3 ORDER BY id OFFSET $4 LIMIT $5
    """)

  fileprivate static let countCustomers = PostgresStatement(
    "count customers",
    """
    SELECT count(*) AS count FROM (
      SELECT FROM customers WHERE publisher_id = $1 AND id >= $2 AND id < $3 LIMIT $4) AS counted
    """)
}
