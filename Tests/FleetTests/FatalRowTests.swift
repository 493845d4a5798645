import EventLoop
import HTTP
import Harness
import TestSupport
import Testing

/// Rows of the ledger that kill the worker which takes them.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct FatalRowTests {
  private static let purchase = "1000000000000042"

  @Test func `a due timer that kills its workers is held back, and the worker does the rest`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"], hasDoors: false) { fleet async throws in
      #expect(try await fleet.register(Self.purchase, id: "s1").status == 202)
      try await eventually("the purchase is there") {
        try await fleet.count("purchases WHERE customer_id = '7'") == 1
      }
      let fault = ["COUNTERSIGN_TEST_CRASH_LOOK": Self.purchase]
      await fleet.kill("worker-1")
      try fleet.start("worker-1", with: fault)
      var deaths = 0
      try await eventually("the row is held back", within: .seconds(240)) {
        // Its lease would end after a while.
        try await fleet.execute("UPDATE purchases SET due_at = now() - interval '1 second'")
        if fleet.roles["worker-1"]?.process.status != nil {
          deaths += 1
          try fleet.start("worker-1", with: fault)
        }
        return !fleet.logged("held back: it seems to kill its worker").isEmpty
      }
      #expect(deaths == 6)
      try await fleet.ready("worker-1")
      #expect(try await fleet.metric("worker-1", "countersign_suspect_rows_held_back_total{kind=\"timer\"}") >= 1)
      #expect(try await fleet.register("1000000000000043", id: "s2").status == 202)
      try await eventually("another purchase is there") {
        try await fleet.count("purchases WHERE customer_id = '7'") == 2
      }
      #expect(fleet.roles["worker-1"]?.process.status == nil)
    }
  }
}
