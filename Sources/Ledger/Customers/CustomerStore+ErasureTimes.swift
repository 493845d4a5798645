import Crypto
public import Domain
import EventLoop
import Postgres

extension CustomerStore {
  /// Tells which of these customers were erased, and until when what names them is about the erased person, in
  /// milliseconds since 1970.
  ///
  /// The ledger knows erased customers by a hash. If a customer with the id came back, what is newer than the erasure
  /// is about that one. Otherwise everything is about the erased one, also what was still under way at the erasure.
  ///
  /// - Throws: `PostgresError`.
  public func erasureTimes(_ customers: some Collection<CustomerKey>) async throws -> [CustomerKey: Int64] {
    guard !customers.isEmpty else { return [:] }
    let named = Dictionary(
      customers.map { (CustomerDigest.sha256(of: $0.id.text, of: $0.publisherId.number), $0) }, uniquingKeysWith: { $1 }
    )
    let rows = try await postgres.run(
      PostgresQuery(
        .readErasures,
        [.ids(named.values.map(\.publisherId)), .bytes(Array(named.keys)), .ids(named.values.map(\.id))]))
    var times: [CustomerKey: Int64] = [:]
    for row in rows {
      guard let hash = try row.bytes("id_sha256"), let customer = named[hash] else { continue }
      times[customer] = try row.time("until") ?? .max
    }
    return times
  }
}

extension PostgresStatement {
  fileprivate static let readErasures = PostgresStatement(
    "read erasures",
    """
    SELECT e.id_sha256, CASE WHEN c.id IS NOT NULL THEN e.erased_at END AS until
    FROM unnest($1::bigint[], $2::bytea[], $3::text[]) AS n (publisher_id, id_sha256, id)
      JOIN erased_customers e USING (publisher_id, id_sha256)
      LEFT JOIN customers c ON c.publisher_id = n.publisher_id AND c.id = n.id
    """)
}
