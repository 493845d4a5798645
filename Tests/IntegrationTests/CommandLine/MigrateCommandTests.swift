import EventLoop
import Fleets
import FoundationEssentials
import Ledger
import Postgres
import ServerSupport
import TestSupport
import Testing

/// `countersign migrate` as a process: its lines and its exit statuses.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct MigrateCommandTests {
  private func migrate(_ arguments: String..., url: String?) async throws -> (status: Int32, text: String) {
    try await migrate(arguments, url: url)
  }

  private func migrate(_ arguments: [String], url: String?) async throws -> (status: Int32, text: String) {
    let folder = FileManager.default.temporaryDirectory.appending(path: "countersign-migrate-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Data("{}".utf8).write(to: URL(filePath: folder + "/c.json"))
    let process = try ChildProcess(
      Repository.products + "/countersign", ["migrate", "--config", folder + "/c.json"] + arguments,
      environment: url.map { ["COUNTERSIGN_LEDGER_URL": $0] } ?? [:], output: folder + "/output")
    let status = try await process.ended()
    return (status, String(decoding: try Data(contentsOf: URL(filePath: folder + "/output")), as: UTF8.self))
  }

  @Test func `it says what is missing, applies it, and then has nothing to do`() async throws {
    try await LedgerDatabase.with { endpoint in
      let url = TestServers.current!.ledgerURL(database: endpoint.database)
      let done = "the schema has every step of this build\n"
      let missing = try await migrate("--check", url: url)
      #expect(missing.status == 1)
      let steps = SchemaStep.all.map { "\($0.number) (\($0.name))" }
      let lacks = "lacks steps \(steps.joined(separator: ", ")): run `countersign migrate`\n"
      #expect(missing.text.hasSuffix(lacks), "\(missing)")
      let listed = try await migrate("--check", "--json", url: url)
      let lines = SchemaStep.all.map { "{\"step\":\($0.number),\"name\":\"\($0.name)\",\"state\":\"missing\"}\n" }
      #expect(listed.status == 1 && listed.text == lines.joined(), "\(listed)")
      let first = try await migrate(url: url)
      #expect(first.status == 0 && first.text == steps.map { "step \($0) applied\n" }.joined() + done)
      for again in [try await migrate(url: url), try await migrate("--check", url: url)] {
        #expect(again.status == 0 && again.text == done)
      }
      let nothing = try await migrate("--check", "--json", url: url)
      #expect(nothing.status == 0 && nothing.text.isEmpty, "\(nothing)")
      try await LedgerDatabase.client(endpoint) { ledger in
        _ = try await ledger.execute("UPDATE schema_steps SET name = 'else' WHERE number = 2")
      }
      let strange = try await migrate("--check", "--json", url: url)
      let stranger = "{\"step\":2,\"name\":\"else\",\"state\":\"unknown\"}\n"
      #expect(strange.status == 1 && strange.text == stranger, "\(strange)")
    }
  }

  @Test func `a refused account ends it at once, with what to look at`() async throws {
    let url = TestServers.current!.ledgerURL(database: "countersign")
    let wrong = url.replacing("postgresql://countersign:", with: "postgresql://countersign:not-")
    for arguments in [[], ["--check"]] {
      let refused = try await migrate(arguments, url: wrong)
      #expect(refused.status == 1, "\(refused)")
      #expect(refused.text.contains("PostgreSQL refuses the connection"), "\(refused)")
      #expect(refused.text.contains("Check user and database in ledger.url"), "\(refused)")
      #expect(!refused.text.contains("trying again"), "\(refused)")
    }
  }

  @Test func `a mistake in the settings ends with 2`() async throws {
    let missing = try await migrate(url: nil)
    #expect(missing.status == 2 && missing.text.contains("ledger.url: is missing"), "\(missing)")
    let wrong = try await migrate("--chekc", url: TestServers.current!.ledgerURL(database: "countersign"))
    #expect(wrong.status == 2 && wrong.text.contains("no option --chekc; did you mean --check?"), "\(wrong)")
    let alone = try await migrate("--json", url: TestServers.current!.ledgerURL(database: "countersign"))
    #expect(alone.status == 2 && alone.text.contains("--json needs --check"), "\(alone)")
  }
}
