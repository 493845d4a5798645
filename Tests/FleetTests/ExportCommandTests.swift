import EventLoop
import Fleets
import FoundationEssentials
import Glibc
import HTTP
import Postgres
import ServerSupport
import TestSupport
import Testing

/// `countersign export` of a publisher of a running fleet, as a process that is killed.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct ExportCommandTests {
  private let all = ["export", "--publisher", "\(RunningFleet.publisher)"]

  private func lines(_ file: String) throws -> [String] {
    String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self).split(separator: "\n").map(String.init)
  }

  @Test func `a killed export goes on, and a purchase of the fleet is in it with its evidence`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      #expect(try await fleet.register("100000000011", id: "e1").status == 202)
      _ = try await fleet.finished(["e1"])
      try await fleet.withLedger { ledger in
        let customers = PostgresStatement(
          "put customers",
          """
          INSERT INTO customers (publisher_id, id, is_registered)
          SELECT \(RunningFleet.publisher), 'c' || n, true FROM generate_series(1, 30000) n
          """)
        _ = try await ledger.run(PostgresQuery(customers))
      }
      let file = fleet.folder + "/export.jsonl"
      // If the machine stands still for a moment, an export may end before its signal comes.
      try await eventually("an export is killed in the middle") {
        try? FileManager.default.removeItem(atPath: file)
        let process = try ChildProcess(
          fleet.executable, all + ["--output", file, "--config", fleet.folder + "/countersign.json"],
          output: fleet.folder + "/killed.log")
        try await eventually("it has written some lines") { (try? lines(file).count > 1000) ?? false }
        process.send(SIGKILL)
        guard try await process.ended() == -SIGKILL else { return false }
        return try lines(file).count < 30000
      }
      // A new export does not destroy it.
      let refused = await #expect(throws: ChildProcess.Failure.self) {
        try await fleet.command(all + ["--output", file])
      }
      #expect(refused?.description.contains("File exists") == true)

      let told = try await fleet.command(all + ["--output", file, "--resume", "--fast", "--json"])
      let written = try lines(file)
      #expect(written.last?.hasPrefix(#"{"kind":"end","lines":{"audit":"#) == true)
      #expect(told.contains(#""purchase":"#), "\(told)")
      let things = Set(written.filter { $0.hasPrefix(#"{"kind":"customer""#) })
      #expect(things.count == 30001)
      let purchase = try #require(written.last { $0.hasPrefix(#"{"kind":"purchase""#) })
      #expect(purchase.contains(#""jws":"eyJ"#) && purchase.contains(#""owners":[{"customerId""#))
      // A whole file stays as it is.
      let before = try Data(contentsOf: URL(filePath: file))
      _ = try await fleet.command(all + ["--output", file, "--resume"])
      #expect(try Data(contentsOf: URL(filePath: file)) == before)
      // All at once, on standard output, whose log has the summary too.
      let fresh = try await fleet.command(all + ["--fast", "--json"])
      let counts = try #require(fresh.split(separator: "\n").last)
      #expect(counts.contains(#""customer":30001,"event":"#))
      #expect(counts.hasSuffix(#""grant":0,"purchase":1,"sandboxAccess":0}"#))
      #expect(Set(fresh.split(separator: "\n").map(String.init)).isSuperset(of: things))
    }
  }

  @Test func `an unknown publisher, and a file of another one, are refused`() async throws {
    try await RunningFleet.with([]) { fleet in
      let unknown = await #expect(throws: ChildProcess.Failure.self) {
        try await fleet.command(["export", "--publisher", "77"])
      }
      #expect(unknown?.description.contains("ended with 2") == true)
      #expect(unknown?.description.contains("no publisher 77 in the configuration") == true)
      let file = fleet.folder + "/export.jsonl"
      _ = try await fleet.command(["export", "--publisher", "\(RunningFleet.openPublisher)", "--output", file])
      let other = await #expect(throws: ChildProcess.Failure.self) {
        try await fleet.command(all + ["--output", file, "--resume"])
      }
      #expect(other?.description.contains("line 1 is of publisher 1002") == true)
    }
  }
}
