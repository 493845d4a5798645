import Domain
import Testing

@testable import Ledger
@testable import Postgres

/// The statements that follow from the description of a table.
struct TableTests {
  private struct Thing {
    var publisherId: PublisherId = 1
    var id = "a"
    var count: Int32?
    var seenAt: Int64 = 0
    var person: String?
  }

  private static let table = Table<Thing>("things", key: ["publisher_id", "id"]) { columns in
    columns.required("publisher_id", .publisher, { $0.publisherId }, { $0.publisherId = $1 })
    columns.required("id", .text, { $0.id }, { $0.id = $1 }, export: "thingId")
    columns.optional("count", .integer, { $0.count }, { $0.count = $1 }, merge: .first, export: "amount")
    columns.required("seen_at", .timestamptz, { $0.seenAt }, { $0.seenAt = $1 }, merge: .greatest)
    columns.optional("person", .text, { $0.person }, { $0.person = $1 }, export: "aPerson", person: .standIn)
    columns.readOptional("note", .text, person: .cleared) { _, _ in }
    columns.other("rest", "bytea")
  }

  private static let computing = Table<Thing>("things", key: ["id"]) { columns in
    columns.required("id", .text, { $0.id }, { $0.id = $1 })
    columns.computed("total", .bigint, { "(SELECT sum(c) FROM counts WHERE id = \($0).id)" }) { $0.seenAt = $1 ?? 0 }
  }

  @Test func `what is computed is selected, and neither written nor a column of the schema`() {
    #expect(Self.computing.selected("t") == "t.id, (SELECT sum(c) FROM counts WHERE id = t.id) AS total")
    #expect(Self.computing.names == "id" && Self.computing.parameters([Thing()]).count == 1)
    #expect(Self.computing.description.columns.map(\.name) == ["id"])
    #expect(Self.computing.document().sql == "" && Self.computing.erasure == "")
  }

  @Test func `a purchase of the sandbox looks for its owner's access by hand, and one that costs money does not`() {
    let sql = PurchaseRow.table.selected("p")
    #expect(sql.contains("CASE WHEN p.environment <> 'Production' THEN (") && sql.hasSuffix("END AS sandbox_until"))
    #expect(!PurchaseRow.table.names.contains("sandbox_until"))
  }

  @Test func `a select names the columns that are read`() {
    #expect(Self.table.selected("t") == "t.publisher_id, t.id, t.count, t.seen_at, t.person, t.note")
  }

  @Test func `an insert names the columns that are written, and their arrays in the same order`() {
    #expect(
      Self.table.insert("x").sql
        == "INSERT INTO things (publisher_id, id, count, seen_at, person) SELECT * FROM \(Self.table.source)")
    #expect(
      Self.table.source == """
        unnest($1::bigint[], $2::text[], $3::integer[], $4::timestamptz[], $5::text[]) \
        AS n (publisher_id, id, count, seen_at, person)
        """)
    #expect(Self.table.nextParameter == 6)
    let parameters = Self.table.parameters([Thing(count: 7), Thing(id: "b")])
    let types: [PostgresType] = [.int64, .text, .int32, .time, .text]
    #expect(parameters.map(\.type) == types.map(\.array))
    #expect(Self.table.values(Thing()).map(\.type) == types.map(\.rawValue))
  }

  @Test func `further arrays follow those of the records`() {
    let keys = Self.table.only()
    #expect(
      keys.source(adding: ("old", "uuid"))
        == "unnest($1::bigint[], $2::text[], $3::uuid[]) AS n (publisher_id, id, old)")
  }

  @Test func `an upsert and an update keep the key, and merge as the columns say`() {
    let key = "t.publisher_id = n.publisher_id AND t.id = n.id"
    let update = Self.table.update("x").sql
    #expect(
      update == """
        UPDATE things t SET count = coalesce(t.count, n.count), seen_at = greatest(t.seen_at, n.seen_at), \
        person = n.person FROM \(Self.table.source) WHERE \(key)
        """)
    let upsert = Self.table.only("count").upsert("x").sql
    #expect(
      upsert == """
        INSERT INTO things AS t (publisher_id, id, count) SELECT * FROM unnest($1::bigint[], $2::text[], $3::integer[]) \
        AS n (publisher_id, id, count)
        ON CONFLICT (publisher_id, id) DO UPDATE SET count = coalesce(t.count, excluded.count)
        """)
  }

  @Test func `one row has its values in the order of its names`() {
    #expect(Self.table.placeholders == "$1, $2, $3, $4, $5")
    #expect(Self.table.hasKey == "publisher_id = $1 AND id = $2")
  }

  @Test func `an erasure changes the columns about a person`() {
    #expect(Self.table.erasure == "person = $3, note = NULL")
  }

  @Test func `an export has the members in the order of their names`() {
    #expect(Self.table.document().sql == #"person AS "aPerson", count AS "amount", id AS "thingId""#)
    #expect(
      Self.table.document(first: ["thingId"], adding: [RowDocument.Column("1 + 1", "two", .number)]).sql
        == #"id AS "thingId", person AS "aPerson", count AS "amount", 1 + 1 AS "two""#)
  }

  @Test func `the statements of a purchase write each of its columns once`() {
    let parameters = PurchaseRow.table.parameters([.blank])
    #expect(parameters.count == PurchaseRow.table.names.split(separator: ", ").count)
    #expect(parameters.count == PurchaseRow.table.nextParameter - 1)
    #expect(!PurchaseRow.table.names.contains("created_at") && !PurchaseRow.table.names.contains("looked_at"))
  }

  @Test func `a purchase comes back whole from its row`() throws {
    let facts = TransactionFacts.blank
    var purchase = try #require(
      Purchase(
        facts.purchase(of: 7), transactions: [facts], renewal: .blank, status: ReportedStatus(code: 1, date: 2),
        owner: Owner(customerId: "ann", subscriptionId: 3), version: 4))
    purchase.attributes = PurchaseAttributes(couponCode: "c")
    (purchase.provisionalUntil, purchase.recheckAt, purchase.hadOwner) = (5, 6, true)
    (purchase.createdAt, purchase.updatedAt) = (8, 9)
    // A property without a value would be lost without a word.
    for (name, value) in Mirror(reflecting: purchase).children {
      let mirror = Mirror(reflecting: value)
      #expect(mirror.displayStyle != .optional || !mirror.children.isEmpty, "give \(name ?? "") a value here")
    }
    #expect(try PurchaseRow(purchase, offerId: nil, dueAt: nil).purchase() == purchase)
  }
}
