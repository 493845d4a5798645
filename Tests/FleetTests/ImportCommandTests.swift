import EventLoop
import Fleets
import FoundationEssentials
import Glibc
import HTTP
import ServerSupport
import Simulator
import TestSupport
import Testing

/// `countersign import` into a running fleet, as a process that is killed.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct ImportCommandTests {
  private let command = ["import", "--publisher", "\(RunningFleet.publisher)", "--from", "plain"]

  /// An active subscription of the simulator's.
  private func id(_ number: Int) -> String { "1000000\(100_000 + number)" }

  private func write(_ rows: [String], to file: String) throws {
    let text = "customer_id,transaction_id,offer\n" + rows.map { $0 + "\n" }.joined()
    try Data(text.utf8).write(to: URL(filePath: file))
  }

  private func lines(_ file: String) throws -> [String] {
    String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self).split(separator: "\n").map(String.init)
  }

  @LoopActor
  private final class Calls {
    var transactions: Set<String> = []
  }

  @Test func `an import is killed, goes on, and tells nobody`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      // Two purchases have owners already.
      #expect(try await fleet.putCustomer(9001).status < 300)
      #expect(try await fleet.register(id(1), customer: 9001, id: "r1").status == 202)
      #expect(try await fleet.register(id(2), customer: 9001, id: "r2").status == 202)
      _ = try await fleet.finished(["r1", "r2"])
      let before = (try await fleet.count("events"), try await fleet.count("synchronizations"))
      let file = fleet.folder + "/rows.csv"
      try write((1...300).map { "c\($0),\(id($0))," }, to: file)
      // 5 rows a second: the second import must come long before the end.
      let process = try ChildProcess(
        fleet.executable, command + [file, "--share", "0.001", "--config", fleet.folder + "/countersign.json"],
        output: fleet.folder + "/killed.log")
      try await eventually("some rows are imported") { try await fleet.count("synchronizations") > before.1 + 20 }
      // One import of a publisher runs at a time.
      let second = await #expect(throws: ChildProcess.Failure.self) { try await fleet.command(command + [file]) }
      #expect(
        second?.description.contains("another import of publisher \(RunningFleet.publisher) is running") == true,
        "\(String(describing: second))")
      process.send(SIGKILL)
      #expect(try await process.ended() == -SIGKILL)
      #expect(try await fleet.count("synchronizations") < before.1 + 300)

      let report = fleet.folder + "/report.jsonl"
      let told = try await fleet.command(command + [file, "--share", "1", "--report", report, "--json"])
      #expect(told.contains(#""rows":300,"withAccess":298,"conflicts":2,"different":0"#), "\(told)")
      let written = try lines(report)
      #expect(written.count == 300)
      #expect(written[0].contains(#""result":"PURCHASE_OWNED_BY_ANOTHER_CUSTOMER""#), "\(written[0])")
      #expect(written[0].contains(#""customerId":"c1""#) && written[0].contains(#""owner":"9001""#))
      #expect(written[2].contains(#""result":"PURCHASE_SYNCHRONIZED","accessGranted":true"#), "\(written[2])")
      // Each row once, and no event of any.
      #expect(try await fleet.count("synchronizations") == before.1 + 300)
      #expect(try await fleet.count("events") == before.0)
      #expect(try await fleet.count("outbox") == 0)
      #expect(try await fleet.ledgerDifferences() == [])

      // Again: nothing changes.
      _ = try await fleet.command(command + [file, "--report", report])
      #expect(try lines(report) == written)
      #expect(try await fleet.count("synchronizations") == before.1 + 300)

      // What was imported in silence is told only in another round: the result, and to clients of iaptic that a request
      // has verified the purchase again. The access is no news.
      let late = try await fleet.command(command + [file, "--tell", "--report", report])
      #expect(late.contains("300 of them had a result before this run, and it told nobody"), "\(late)")
      #expect(try await fleet.count("events") == before.0)
      try write(["c3,\(id(3)),"], to: file)
      _ = try await fleet.command(command + [file, "--tell", "--round", "2", "--report", report])
      let again = try await fleet.count("events")
      #expect(again == before.0 + 2)
      let refreshed = "encode(body, 'escape') LIKE '%RECEIPT_REFRESHED%'"
      for one in ["topic = 'inappPurchaseSyncResult'", "topic = 'purchases.updated' AND \(refreshed)"] {
        #expect(try await fleet.count("events WHERE customer_id = 'c3' AND \(one)") == 1)
      }

      // With --tell there are events.
      try write(["t1,\(id(400)),"], to: file)
      _ = try await fleet.command(command + [file, "--tell", "--report", report])
      #expect(try await fleet.count("events") > again + 1)
    }
  }

  @Test func `rows with a signed transaction or a receipt, also a consumable and one without a call`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      let (file, report) = (fleet.folder + "/rows.csv", fleet.folder + "/report.jsonl")
      let (subscription, lifetime, coins) = ("1000000000007001", "1100000000007002", "1110000000007003")
      let rows = [
        "customer_id,signed_transaction,app_receipt,verify",
        "a,\(try await fleet.minted("jws/\(subscription)")),,",
        "b,,\(try await fleet.minted("receipt/\(coins)?also=1000000000007004")),apple",
        "c,\(try await fleet.minted("jws/\(lifetime)")),,signature",
        // Another root has signed it.
        "d,\(try await fleet.minted("jws/1410000000007005")),,",
      ]
      try Data(rows.map { $0 + "\n" }.joined().utf8).write(to: URL(filePath: file))
      let refused = await #expect(throws: ChildProcess.Failure.self) { try await fleet.command(command + [file]) }
      #expect(
        refused?.description.contains("line 5: the signed transaction is not accepted: chain_untrusted") == true,
        "\(String(describing: refused))")
      #expect(try await fleet.count("synchronizations") == 0)

      let calls = Calls()
      fleet.simulator.onCall = { call in
        // A worker also reads the history of notifications, which is about no transaction.
        if !call.transactionId.isEmpty { calls.transactions.insert(call.transactionId) }
      }
      let told = try await fleet.command(command + [file, "--skip-problems", "--report", report, "--json"])
      fleet.simulator.onCall = { _ in }
      // Nobody asked about the purchase whose signature is enough.
      #expect(calls.transactions == [subscription, coins, "1000000000007004"])
      let imported = #"countersign_imported_rows_total{result="PURCHASE_SYNCHRONIZED"}"#
      #expect(try await fleet.metric("worker-1", imported) == 4)
      #expect(told.contains(#""rows":4,"withAccess":4,"conflicts":0,"different":0"#), "\(told)")
      // A dry run of a file with problems fails, and tells its plan.
      let plan = await #expect(throws: ChildProcess.Failure.self) {
        try await fleet.command(command + [file, "--dry-run", "--json"])
      }
      let counts = #""rows":4,"fewestCalls":3,"mostCalls":6,"#
      #expect(plan?.description.contains(counts) == true, "\(String(describing: plan))")
      #expect(plan?.description.contains(#""signed":1,"#) == true)
      let written = try lines(report)
      #expect(written.count == 5 && written[4].hasPrefix(#"{"line":5,"result":"skipped","cause":"the signed trans"#))
      for id in [subscription, lifetime, coins, "1000000000007004"] {
        #expect(written.contains { $0.contains("\"transactionId\":\"\(id)\"") }, "\(written)")
      }
      #expect(try await fleet.count("events") == 0)
      // The first grant of a consumable is taken: a registration does not give it again.
      #expect(try await fleet.putCustomer(9001).status < 300)
      #expect(try await fleet.register(coins, customer: 9001, id: "again").status == 202)
      _ = try await fleet.finished(["again"])
      #expect(try await fleet.count("transactions WHERE first_granted_at IS NOT NULL") == 1)
    }
  }

  @Test func `a dry run calls nobody, and a wrong file leaves nothing behind`() async throws {
    try await RunningFleet.with(["worker-1"]) { fleet in
      let file = fleet.folder + "/rows.csv"
      try write(["a,\(id(1)),", ",\(id(2)),", "b,x,"], to: file)
      let refused = await #expect(throws: ChildProcess.Failure.self) { try await fleet.command(command + [file]) }
      #expect(refused?.description.contains("line 3: names no customer") == true, "\(String(describing: refused))")
      #expect(refused?.description.contains("nothing is imported, because 2 rows cannot work") == true)
      #expect(try await fleet.count("synchronizations") == 0)
      // One line, and longer than any line may be.
      try Data(("[" + String(repeating: "{},", count: 12 << 20)).utf8).write(to: URL(filePath: file))
      let array = await #expect(throws: ChildProcess.Failure.self) { try await fleet.command(command + [file]) }
      let cause = "line 1: the file is one JSON array; write one object a line"
      #expect(array?.description.contains(cause) == true, "\(String(describing: array))")
      try write((1...300).map { "c\($0),\(id($0))," }, to: file)
      let plan = try await fleet.command(command + [file, "--dry-run", "--json"])
      #expect(plan.contains(#""rows":300,"fewestCalls":300,"mostCalls":600"#), "\(plan)")
      #expect(try await fleet.count("synchronizations") == 0)
    }
  }
}
