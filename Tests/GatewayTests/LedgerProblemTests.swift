import Postgres
import Testing

@testable import Gateway

/// What a client is told when the ledger fails.
struct LedgerProblemTests {
  private func problem(_ code: PostgresError.Code) -> Problem {
    .ledger(PostgresError(code, operation: "put customer", target: "ledger", cause: "secret detail"))
  }

  @Test(arguments: [
    PostgresError.Code.unreachable, .closed, .server(sqlState: "40P01"), .server(sqlState: "55P03"),
    .server(sqlState: "53300"), .server(sqlState: "57P03"),
  ])
  func `nothing was changed, and the client comes again`(code: PostgresError.Code) {
    let problem = problem(code)
    #expect(problem.status == 503 && problem.code == "S0503" && problem.retryAfter == 2)
    #expect(problem.detail?.hasSuffix("Nothing was changed.") == true)
  }

  @Test(arguments: [PostgresError.Code.timeout, .connectionLost])
  func `an answer that got lost may have taken effect`(code: PostgresError.Code) {
    let problem = problem(code)
    #expect(problem.status == 503 && problem.retryAfter == 2)
    #expect(problem.detail?.hasSuffix("may have taken effect all the same.") == true)
  }

  @Test(arguments: ["22021", "23514", "42703"]) func `a refused statement is our mistake`(state: String) {
    #expect(problem(.server(sqlState: state)) == .internalError)
  }
}
