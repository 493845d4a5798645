import AMQP
import Domain
import Redis
import Testing

@testable import Gateway

/// What a failed registration has left behind, as far as the failure tells.
struct RegistrationFailureTests {
  @Test(arguments: [
    (AMQPError.Code.unreachable, true), (.blocked, true), (.refused, true), (.invalid, true), (.unroutable, true),
    (.timeout, false), (.connectionLost, false), (.channelClosed, false), (.closed, false),
  ]) func `only some failures of a publish prove that no job is there`(code: AMQPError.Code, isProof: Bool) {
    #expect(AMQPError(code, operation: "publish", target: "t", cause: "c").provesAbsence == isProof)
  }

  @Test(arguments: [
    (RedisError.Code.unreachable, true), (.reply, true), (.timeout, false), (.connectionLost, false),
  ]) func `only some failures of a command prove that it did nothing`(code: RedisError.Code, isProof: Bool) {
    #expect(RedisError(code, operation: "SET", target: "t", cause: "c").provesAbsence == isProof)
  }

  @Test func `the client is told which of the two it is, and how to settle it`() {
    let nothing = Problem.nothingKept("No broker.", isOnlyOne: true)
    #expect(nothing.status == 503 && nothing.code == "S0503" && nothing.retryAfter == 2)
    #expect(nothing.detail == "No broker. Nothing was kept." && nothing.instance == nil)
    let unknown = Problem.unconfirmed("No confirm.", of: "a/b")
    #expect(unknown.status == 503 && unknown.code == "S0503" && unknown.retryAfter == 2)
    #expect(unknown.detail?.contains("The registration may take effect all the same.") == true)
    #expect(unknown.detail?.hasSuffix("repeat it with Correlation-Id: a/b.") == true)
    #expect(unknown.instance == "/storekit2/purchases/synchronizations/a%2Fb")
  }

  @Test func `nobody is told that nothing was kept while an earlier request may take effect`() {
    // The job of an earlier request with the same Correlation-Id may lie in the socket of a broker that is stopped.
    let repeated = Problem.nothingKept("No broker.", isOnlyOne: false)
    #expect(
      repeated.detail
        == "No broker. Nothing was kept of this request. An earlier one with the same Correlation-Id may take effect all "
        + "the same.")
    #expect(repeated.status == 503 && repeated.retryAfter == 2)

    func problem(_ code: AMQPError.Code, isUndone: Bool) -> Problem {
      .notPublished(
        AMQPError(code, operation: "publish", target: "t", cause: "c"), isUndone: isUndone, of: "a", isOnlyOne: true)
    }
    #expect(problem(.refused, isUndone: true).detail?.hasSuffix("Nothing was kept.") == true)
    // A worker has begun, or a repetition was told that it runs.
    #expect(problem(.refused, isUndone: false) == problem(.timeout, isUndone: true))
    #expect(problem(.refused, isUndone: false).instance == "/storekit2/purchases/synchronizations/a")
  }

  @Test func `a store that refuses writes is one to come back to, in a script of Redis 6 too`() {
    func problem(_ code: RedisError.Code, _ cause: String) -> Problem {
      .store(RedisError(code, operation: "script claim", target: "t", cause: cause))
    }
    for cause in [
      "OOM command not allowed", "READONLY You can't write", "MISCONF Errors writing to the AOF file",
      "ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -OOM command not allowed",
      "LOADING Redis is loading the dataset in memory",
    ] {
      #expect(problem(.reply, cause).status == 503, "\(cause)")
      #expect(problem(.reply, cause).detail?.contains("may have taken effect") == false)
    }
    #expect(problem(.reply, "WRONGTYPE Operation").status == 500)
    #expect(problem(.timeout, "no reply").detail?.contains("may have taken effect") == true)
  }
}
