import EventLoop
import Fleets
import Postgres
import ServerSupport
import Testing

@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct PostgresValueTests {
  private func with(_ body: @LoopActor (PostgresClient) async throws -> Void) async throws {
    try await PostgresTestServer.with(connections: 1, body)
  }

  @Test func `every type of value goes there and comes back`() async throws {
    try await with { postgres in
      let uuid = "01234567-89ab-cdef-0123-456789abcdef"
      let rows = try await postgres.run(
        PostgresQuery(
          "SELECT $1, $2, $3, $4, $5, $6, $7, $1::text, $3::text, $6::text, $7::text",
          [
            .int64(.min), .int32(.max), .bool(true), .text("a\u{301} 𝄞"), .bytes([0, 255]),
            .time(1_700_000_000_123), .uuid(uuid.uppercased()),
          ]))
      #expect(rows.count == 1 && rows.affected == 1)
      let row = rows[0]
      #expect(row.int64(0) == .min && row.int32(1) == .max && row.bool(2) == true)
      #expect(row.int64(1) == Int64(Int32.max))
      #expect(row.text(3).map { Array($0.utf8) } == Array("a\u{301} 𝄞".utf8))
      #expect(row.bytes(4) == [0, 255])
      #expect(row.time(5) == 1_700_000_000_123 && row.uuid(6) == uuid)
      // PostgreSQL understands the values as we do.
      #expect(row.text(7) == "-9223372036854775808" && row.text(8) == "true" && row.text(10) == uuid)
      #expect(row.text(9) == "2023-11-14 22:13:20.123+00")
    }
  }

  @Test func `NULL goes there and comes back as every type`() async throws {
    try await with { postgres in
      let row = try await postgres.run(
        PostgresQuery(
          "SELECT $1, $2, $3, $4, $5, $6, $7",
          [
            .int64(nil), .int32(nil), .bool(nil), .text(nil), .bytes(nil as [UInt8]?), .time(nil), .uuid(nil),
          ]))[0]
      #expect(row.int64(0) == nil && row.int32(1) == nil && row.bool(2) == nil)
      #expect(row.text(3) == nil && row.bytes(4) == nil && row.time(5) == nil && row.uuid(6) == nil)
    }
  }

  @Test func `an empty text and empty bytes are not NULL`() async throws {
    try await with { postgres in
      let row = try await postgres.run(PostgresQuery("SELECT $1, $2", [.text(""), .bytes([] as [UInt8])]))[0]
      #expect(row.text(0) == "" && row.bytes(1) == [])
    }
  }

  @Test func `arrays of every type become rows, with their NULLs`() async throws {
    try await with { postgres in
      let uuid = "01234567-89ab-cdef-0123-456789abcdef"
      let rows = try await postgres.run(
        PostgresQuery(
          "SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7)",
          [
            .int64s([1, nil]), .int32s([2, nil]), .bools([true, nil]), .texts(["", nil]), .bytes([[1, 2], nil]),
            .times([-1, nil]), .uuids([uuid, nil]),
          ]))
      #expect(rows.count == 2)
      let (first, second) = (rows[0], rows[1])
      #expect(first.int64(0) == 1 && first.int32(1) == 2 && first.bool(2) == true)
      #expect(first.text(3) == "" && first.bytes(4) == [1, 2] && first.time(5) == -1 && first.uuid(6) == uuid)
      #expect(second.int64(0) == nil && second.int32(1) == nil && second.bool(2) == nil)
      #expect(second.text(3) == nil && second.bytes(4) == nil && second.time(5) == nil && second.uuid(6) == nil)
    }
  }

  @Test func `an array may be empty, and an array of texts can be read`() async throws {
    try await with { postgres in
      let row = try await postgres.run(
        PostgresQuery(
          "SELECT cardinality($1), $2, $3, NULL::text[]", [.int64s([]), .texts(["a", nil, "b,\""]), .texts([])]))[0]
      #expect(row.int32(0) == 0)
      #expect(row.texts(1) == ["a", "b,\""])
      #expect(row.texts(2) == [])
      #expect(row.texts(3) == nil)
    }
  }

  @Test func `the ends of time and times before 2000 and 1970 are exact`() async throws {
    try await with { postgres in
      let times: [Int64] = [.min, -62_135_596_800_000, -1, 0, 946_684_799_999, 946_684_800_000, .max]
      let rows = try await postgres.run(
        PostgresQuery("SELECT t, t::text FROM unnest($1) WITH ORDINALITY AS x(t, n) ORDER BY n", [.times(times)]))
      #expect(rows.map { $0.time(0) } == times)
      #expect(
        rows.map { $0.text(1) } == [
          "-infinity", "0001-01-01 00:00:00+00", "1969-12-31 23:59:59.999+00", "1970-01-01 00:00:00+00",
          "1999-12-31 23:59:59.999+00", "2000-01-01 00:00:00+00", "infinity",
        ])
    }
  }

  @Test func `a result of another shape is an error that names the column`() async throws {
    try await with { postgres in
      let rows = try await postgres.run(
        PostgresQuery("SELECT 'a' AS text, 1::bigint AS number, 4294967296 AS large, '\\x00'::bytea AS bytes"))
      let row = rows[0]
      let other = try await postgres.run(PostgresQuery("SELECT 1, 2, 3, 4, 5 AS fifth"))
      let readings: [(column: String, read: @LoopActor () throws -> Void)] = [
        ("text", { _ = try row.int64("text") }), ("text", { _ = try row.time("text") }),
        ("text", { _ = try row.uuid("text") }), ("text", { _ = try row.texts("text") }),
        ("number", { _ = try row.bool("number") }), ("number", { _ = try row.texts("number") }),
        ("large", { _ = try row.int32("large") }), ("bytes", { _ = try row.int32("bytes") }),
        ("nothing", { _ = try row.text("nothing") }), ("nothing", { _ = try rows.column("nothing") }),
        // PostgreSQL's names are exact.
        ("Text", { _ = try row.text("Text") }), ("fifth", { _ = try row.int64(other.column("fifth")) }),
      ]
      for (column, read) in readings {
        let error = #expect(throws: PostgresError.self, "\(column)") { try read() }
        #expect(error?.code == .unreadable && error?.advice == .ourMistake)
        #expect(error?.cause.contains("the column \(column) of the result") == true)
        #expect(error?.operation.hasPrefix("SELECT 'a'") == true)
      }
      #expect(try row.text("text") == "a" && row.int32("number") == 1 && row.bytes("bytes") == [0])
    }
  }

  @Test func `a column is found once for all rows, wherever it stands`() async throws {
    try await with { postgres in
      let rows = try await postgres.run(
        PostgresQuery("SELECT n AS b, 10 * n AS a, 100 * n AS a FROM generate_series(1, 2) AS s (n) ORDER BY n"))
      let a = try rows.column("a")
      #expect(try rows.map { try $0.int32(a) } == [10, 20])
      // The search begins behind the column before, and after the last column with the first.
      let columns = try rows.columns(["a", "a", "b", "b", "a"])
      #expect(try columns.map { try rows[1].int32($0) } == [20, 200, 2, 2, 20])
    }
  }

  @Test(arguments: [
    ("SELECT $1 || ''", PostgresParameter.text("a\0b"), "22021"),
    ("SELECT $1 IS NULL", .uuid("01234567-89ab-cdef-0123-456789abcde"), "22P03"),
    ("SELECT cardinality($1)", .uuids([nil, ""]), "22P03"),
  ])
  func `PostgreSQL refuses a value that is none, and says so`(
    _ sql: String, _ value: PostgresParameter, _ state: String
  ) async throws {
    try await with { postgres in
      let error = await postgresError { try await postgres.run(PostgresQuery(sql, [value])) }
      #expect(error?.code == .server(sqlState: state))
      #expect(error?.advice == .ourMistake)
      #expect(error?.operation == sql)
      let value1 = try await postgres.run(PostgresQuery("SELECT 1"))[0].int32(0)
      #expect(value1 == 1)
    }
  }
}
