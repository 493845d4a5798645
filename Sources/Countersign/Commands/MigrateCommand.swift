import Configuration
import EventLoop
import JSON
import Ledger
import Postgres
import Service

/// `countersign migrate`: updates the schema of the ledger to this build, or only reports what is missing.
enum MigrateCommand {
  static let command = Command(
    name: "migrate",
    summary: "updates the schema of the ledger to this build; with --check, it only reports what is missing",
    synopsis: "--config FILE [--check [--json]]",
    options: [
      .configuration, CommandOption("--check", "changes nothing, and reports the steps that are missing"),
      CommandOption("--json", "with --check: a line of JSON for each step that is missing or unknown"),
    ], run: run)

  @LoopActor
  static func run(_ arguments: [String]) async -> Int32 {
    let settings: LedgerSettings
    var endpoint: PostgresEndpoint
    let (isCheck, isJSON) = (arguments.contains("--check"), arguments.contains("--json"))
    do {
      // What a migration does is told by its lines, as it happens.
      if isJSON, !isCheck { throw UsageError(description: "countersign migrate: --json needs --check") }
      // The command does not read the publishers' files: they may need keys that are not there yet.
      let loader = try ConfigurationLoader(
        arguments.filter { $0 != "--check" && $0 != "--json" }, command: "migrate")
      settings = try loader.settings(for: [.migrate]).ledger
      endpoint = try PostgresEndpoint(settings, name: "countersign migrate")
    } catch {
      complain("\(error)")
      return 2
    }
    // An index over many rows takes its time.
    endpoint.replyTimeout = .seconds(86_400)
    let postgres = await PostgresClient.opened(endpoint)
    let status = await isCheck ? check(postgres, isJSON) : migrate(postgres)
    await postgres.stop()
    return status
  }

  @LoopActor
  private static func migrate(_ postgres: PostgresClient) async -> Int32 {
    do {
      try await Migration(postgres, tell: say).run()
      // After a restore into another server; else there are none.
      let adopted = try await EventFeed(postgres).adoptRestored()
      if adopted > 0 { say("\(adopted) events of another server now come before all events of this server") }
      return 0
    } catch {
      complain(error, by: "migrate")
      return 1
    }
  }

  @LoopActor
  private static func check(_ postgres: PostgresClient, _ isJSON: Bool) async -> Int32 {
    do {
      try await SchemaCheck(postgres).pass(within: .seconds(30))
      if !isJSON { say("the schema has every step of this build") }
      return 0
    } catch let mismatch as SchemaMismatch where isJSON {
      switch mismatch.state {
      case .ready: break
      case .behind(let missing): for step in missing { say(line(step, "missing")) }
      case .incompatible(let step): say(line(step, "unknown"))
      }
      return 1
    } catch {
      complain(error, by: "migrate")
      return 1
    }
  }

  private static func line(_ step: AppliedStep, _ state: String) -> String {
    jsonLine { json in
      json.member("step", Int64(step.number))
      json.member("name", step.name)
      json.member("state", state)
    }
  }
}
