import Testing

@testable import Postgres

@Suite struct PostgresErrorTests {
  private func error(_ code: PostgresError.Code) -> PostgresError {
    PostgresError(code, operation: "insert", target: "host:5432", cause: "words")
  }

  @Test(arguments: [
    "40001", "40P01", "55P03", "57014", "08000", "08006", "57P01", "57P02", "57P03", "57P05", "25006", "0A000", "26000",
    "42P05",
  ])
  func `what another run can mend is run again`(_ state: String) {
    #expect(error(.server(sqlState: state)).advice == .runAgain)
  }

  @Test(arguments: [PostgresError.Code.connectionLost, .timeout, .unreachable, .closed])
  func `work without an answer is run again`(_ code: PostgresError.Code) {
    #expect(error(code).advice == .runAgain)
  }

  @Test(arguments: ["53000", "53100", "53200", "53300", "58030", "58P01", "XX000", "XX001", "42501"])
  func `a server without room, with a broken disk or with other rights is left alone`(_ state: String) {
    #expect(error(.server(sqlState: state)).advice == .backOff)
  }

  @Test(arguments: ["22001", "22P02", "23505", "23514", "42601", "42P01", "25P02", "P0001", ""])
  func `everything else is our mistake`(_ state: String) {
    #expect(error(.server(sqlState: state)).advice == .ourMistake)
  }

  @Test func `the text names operation, server, cause and code`() {
    #expect("\(error(.server(sqlState: "23505")))" == "insert at host:5432: words (23505)")
    #expect("\(error(.timeout))" == "insert at host:5432: words (timeout)")
  }

  @Test func `a text of libpq becomes one line`() {
    #expect(PostgresError.oneLine("first line\n\tand a second?\n") == "first line; and a second?")
    #expect(PostgresError.oneLine(nil) == "")
  }

  @Test func `a line keeps its order while it is used`() {
    var line = WaitingLine<Int>()
    var taken: [Int] = []
    for number in 0..<20_000 {
      line.append(number)
      if number % 3 != 0 { taken.append(line.removeFirst()) }
    }
    #expect(line.count == 20_000 - taken.count && line.first == taken.count)
    #expect(taken + line.removeAll() == Array(0..<20_000))
    #expect(line.isEmpty && line.first == nil)
  }

  @Test func `a statement that was forgotten gets another name at the server`() {
    var prepared = PreparedStatements()
    let query = PostgresQuery(PostgresStatement("a", "SELECT $1"), [.int64(1)])
    #expect(prepared.serverName(of: query) == nil)
    #expect(prepared.add(query, [20]) == "a")
    #expect(prepared.serverName(of: query) == "a")
    prepared.forget([query])
    #expect(prepared.serverName(of: query) == nil)
    #expect(prepared.add(query, [20]) == "a.1")
    prepared.forget("a")
    #expect(prepared.serverName(of: query) == nil)
  }
}
