import EventLoop
import Fleets
import HTTP
import ServerSupport
import Simulator
import TestSupport
import Testing

/// Whose jobs `countersign jobs retry` runs first.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct RetryFairnessTests {
  @LoopActor
  private final class Calls {
    var order: [String] = []
  }

  @Test func `a publisher's few jobs do not stand behind another publisher's many`() async throws {
    try await RunningFleet.with(
      ["gateway-1", "worker-1"],
      overrides: [
        "COUNTERSIGN_WORKER_RETRY_SCHEDULE_SECONDS": "3600", "COUNTERSIGN_WORKER_SWEEP_INTERVAL_SECONDS": "1",
        // So that the queue's order is the order of the calls.
        "COUNTERSIGN_WORKER_CONCURRENCY": "2",
      ]
    ) { fleet in
      fleet.simulator.weather = .failing
      let many = (100..<140).map { "1000000000\($0)" }
      let few = (900..<903).map { "1000000000\($0)" }
      for transaction in many { #expect(try await fleet.register(transaction, id: transaction).status == 202) }
      for transaction in few {
        let answer = try await fleet.register(
          transaction, publisher: RunningFleet.openPublisher, id: transaction)
        #expect(answer.status == 202)
      }
      try await eventually("all wait") {
        try await fleet.command(["jobs", "list", "--limit", "1"]).hasSuffix("{\"matching\":43}\n")
      }
      fleet.simulator.weather = .fair
      let calls = Calls()
      fleet.simulator.onCall = { if !$0.transactionId.isEmpty { calls.order.append($0.transactionId) } }
      #expect(try await fleet.command(["jobs", "retry"]) == "{\"matching\":43,\"retried\":43}\n")
      _ = try await fleet.finished(Set(many + few))
      fleet.simulator.onCall = { _ in }
      // Without turns they would come last: the publisher's id is the greater one.
      for transaction in few {
        let place = try #require(calls.order.firstIndex(of: transaction))
        #expect(place < 20, "\(calls.order)")
      }
    }
  }
}
