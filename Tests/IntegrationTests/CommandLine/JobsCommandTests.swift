import Coordination
import Crypto
import Domain
import EventLoop
import Fleets
import FoundationEssentials
import Postgres
import ServerSupport
import TestSupport
import Testing

/// `countersign jobs` as a process, beside a Redis where more jobs wait than one page holds.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct JobsCommandTests {
  private let hour = CoordinationOnRedis.hour

  /// A place with jobs that wait, and a configuration that leads to it.
  private struct Place {
    let test: CoordinationOnRedis
    let ledger: PostgresEndpoint
    let folder: String
  }

  private func with(_ body: @LoopActor (Place) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "countersign-jobs-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder + "/publishers", withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let servers = TestServers.current!
    try await LedgerDatabase.with(isMigrated: true) { ledger in
      try await CoordinationOnRedis.with { test async throws in
        let publisher = RunningFleet.publisherText(1, #""customers": "open""#)
        try Data(publisher.utf8).write(to: URL(filePath: folder + "/publishers/1.json"))
        let text = """
          {"redis": {"url": "\(servers.redisURL())", "prefix": "\(test.prefix)"\(servers.authoritySetting)},
           "ledger": {"url": "\(servers.ledgerURL(database: ledger.database))"\(servers.authoritySetting)}}
          """
        try Data(text.utf8).write(to: URL(filePath: folder + "/c.json"))
        try await body(Place(test: test, ledger: ledger, folder: folder))
      }
    }
  }

  private func jobs(_ words: [String], in place: Place) async throws -> (status: Int32, lines: [String]) {
    let output = place.folder + "/output"
    try? FileManager.default.removeItem(atPath: output)
    let process = try ChildProcess(
      Repository.products + "/countersign", ["jobs"] + words + ["--config", place.folder + "/c.json"], output: output)
    let status = try await process.ended()
    let text = String(decoding: try Data(contentsOf: URL(filePath: output)), as: UTF8.self)
    return (status, text.split(separator: "\n").map(String.init))
  }

  /// Lets a job fail, so that it waits for an hour.
  private func wait(_ place: Place, _ id: String, registeredAt: Int64 = 1, lane: JobLane = .usual) async throws {
    let job = Job(
      synchronizationId: SynchronizationId(id), publisherId: 1, customerId: "kim", transactionId: TransactionId(id),
      lane: lane, registeredAt: registeredAt)
    let lease = try await place.test.lease(job, for: hour)
    try await place.test.leases.release(
      job, lease, isRetrying: true, sweepAfter: hour, route: "com.one|Production", cause: .appleError)
  }

  /// The rows of the audit log: who, what, of how many, until when.
  private func audit(_ place: Place) async throws -> [String] {
    try await LedgerDatabase.client(place.ledger) { ledger in
      let rows = try await ledger.run(
        """
        SELECT concat_ws(' ', publisher_id, actor, action, subject, detail->>'count',
          detail->'filter'->>'registeredUntil' IS NOT NULL) AS text
        FROM (SELECT id, publisher_id, actor, action, subject, convert_from(detail, 'UTF8')::json AS detail FROM audit)
        AS entries ORDER BY id
        """)
      return try rows.map { try $0.text("text") ?? "" }
    }
  }

  private func due(_ place: Place) async throws -> Int {
    var due = 0
    for lane in JobLane.allCases {
      due += try await place.test.open.dueJobs(
        lane, limit: 2000, lookAgainAfter: hour, overdueBy: hour, doors: DoorCatalog()
      ).jobs.count
    }
    return due
  }

  @Test func `retry means the jobs that are there when it starts, each once, and one entry says how many`() async throws
  {
    try await with { place in
      for number in 1...1200 { try await wait(place, "s\(number)", lane: number <= 100 ? .bulk : .usual) }
      // As if it came while the command reads.
      try await wait(place, "late", registeredAt: 9_700_000_000_000)
      let listed = try await jobs(["list"], in: place)
      #expect(listed.status == 0 && listed.lines.count == 101 && listed.lines.last == #"{"matching":1201}"#)
      let counted = try await jobs(["retry", "--dry-run", "--as", "kim"], in: place)
      #expect(counted.status == 0 && counted.lines == [#"{"matching":1200,"retried":0}"#], "\(counted)")
      #expect(try await audit(place).isEmpty)
      #expect(try await due(place) == 0)

      let some = try await jobs(["retry", "--limit", "7", "--as", "kim"], in: place)
      #expect(some.status == 0 && some.lines == [#"{"matching":1200,"retried":7}"#], "\(some)")
      #expect(try await audit(place) == ["1 operator:kim jobs.retried jobs 7 t"])
      #expect(try await due(place) == 7)
      let all = try await jobs(["retry", "--cause", "apple_error", "--as", "kim"], in: place)
      #expect(all.status == 0 && all.lines == [#"{"matching":1200,"retried":1200}"#], "\(all)")
      #expect(try await audit(place).dropFirst() == ["1 operator:kim jobs.retried jobs 1200 t"])
      #expect(try await due(place) == 1200)
      let none = try await jobs(["retry", "--cause", "timeout", "--as", "kim"], in: place)
      #expect(none.lines == [#"{"matching":0,"retried":0}"#])
      #expect(try await audit(place).count == 2)
    }
  }

  @Test func `show prints one whole job, with the customer's hash in place of the id`() async throws {
    try await with { place in
      for id in ["a", "b"] { try await wait(place, id) }
      let shown = try await jobs(["show", "--id", "b"], in: place)
      #expect(shown.status == 0 && shown.lines.count == 2 && shown.lines.last == #"{"matching":1}"#, "\(shown)")
      let line = try #require(shown.lines.first)
      let hash = CustomerDigest.short(of: "kim", of: 1)
      #expect(line.contains(#""synchronizationId":"b""#) && line.contains(#""job":{"#) && line.contains(hash))
      #expect(!line.contains("kim"), "\(line)")
      let plain = try await jobs(["show", "--id", "b", "--plain"], in: place)
      #expect(plain.lines.first?.contains(#""customerId":"kim""#) == true, "\(plain)")
      let one = try await jobs(["show"], in: place)
      #expect(one.lines.count == 2 && one.lines.last == #"{"matching":2}"#, "\(one)")
      #expect(try await audit(place).isEmpty)
    }
  }

  @Test func `arguments that make no sense end with 2`() async throws {
    try await with { place in
      let refusals: [(words: [String], text: String)] = [
        ([], "jobs needs an action"), (["bury"], "jobs needs an action"), (["retry", "--limit", "0"], "--limit needs"),
        (["list", "--cause", "moon"], "--cause needs one of"), (["show", "--nothing"], "--nothing"),
      ]
      for refusal in refusals {
        let refused = try await jobs(refusal.words, in: place)
        #expect(refused.status == 2 && refused.lines.first?.contains(refusal.text) == true, "\(refused)")
      }
    }
  }
}
