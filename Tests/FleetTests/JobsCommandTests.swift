import EventLoop
import Fleets
import HTTP
import ServerSupport
import Simulator
import TestSupport
import Testing

/// `countersign jobs` on a fleet whose jobs wait.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct JobsCommandTests {
  @Test func `jobs that wait for an hour run at once when a person says so`() async throws {
    try await RunningFleet.with(
      ["gateway-1", "worker-1"],
      overrides: [
        "COUNTERSIGN_WORKER_RETRY_SCHEDULE_SECONDS": "3600", "COUNTERSIGN_WORKER_SWEEP_INTERVAL_SECONDS": "1",
      ]
    ) { fleet in
      fleet.simulator.weather = .failing
      let ids = (1...5).map { "j\($0)" }
      for (number, id) in ids.enumerated() {
        #expect(try await fleet.register("10000000001\(number)", id: id).status == 202)
      }
      try await eventually("all wait") {
        var waiting = 0
        for id in ids where try await fleet.status(id)?.status == "retrying" { waiting += 1 }
        return waiting == ids.count
      }
      let listed = try await fleet.command(["jobs", "list", "--cause", "apple_error", "--limit", "2"])
      let lines = listed.split(separator: "\n")
      #expect(lines.count == 3 && lines.last == #"{"matching":5}"#, "\(listed)")
      #expect(lines.first?.contains(#""cause":"apple_error""#) == true)
      #expect(try await fleet.command(["jobs", "list", "--cause", "timeout"]) == "{\"matching\":0}\n")
      #expect(try await fleet.command(["jobs", "list", "--publisher", "77"]) == "{\"matching\":0}\n")
      #expect(try await fleet.command(["jobs", "list", "--older-than", "2h"]) == "{\"matching\":0}\n")
      #expect(try await fleet.command(["jobs", "retry", "--dry-run"]) == "{\"matching\":5,\"retried\":0}\n")

      fleet.simulator.weather = .fair
      let app = ["--app", "com.example.app"]
      #expect(try await fleet.command(["jobs", "retry"] + app) == "{\"matching\":5,\"retried\":5}\n")
      let events = try await fleet.finished(Set(ids))
      #expect(Set(events.map(\.result)) == ["PURCHASE_SYNCHRONIZED"])
      #expect(try await fleet.metric("worker-1", "countersign_hurried_jobs_total") == 5)
      #expect(try await fleet.metric("worker-1", "countersign_swept_jobs_total") == 0)
      #expect(try await fleet.command(["jobs", "list"]) == "{\"matching\":0}\n")
    }
  }
}
