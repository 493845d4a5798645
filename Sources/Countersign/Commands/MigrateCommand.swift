import Configuration
import EventLoop
import Ledger
import Postgres
import Service

/// `countersign migrate`: brings the ledger's schema up to this build, or only says what is missing.
enum MigrateCommand {
  @LoopActor
  static func run(_ arguments: [String]) async -> Int32 {
    let settings: LedgerSettings
    var endpoint: PostgresEndpoint
    do {
      // The command does not read the publishers' files: they may need keys that are not there yet.
      let loader = try ConfigurationLoader(arguments.filter { $0 != "--check" }, command: "migrate")
      settings = try loader.settings(for: [.migrate]).ledger
      endpoint = try PostgresEndpoint(settings, name: "countersign migrate")
    } catch {
      complain("\(error)")
      return 2
    }
    // An index over many rows takes its time.
    endpoint.replyTimeout = .seconds(86_400)
    let postgres = await PostgresClient.opened(endpoint)
    let status = await arguments.contains("--check") ? check(postgres) : migrate(postgres)
    await postgres.stop()
    return status
  }

  @LoopActor
  private static func migrate(_ postgres: PostgresClient) async -> Int32 {
    do {
      try await Migration(postgres, tell: say).run()
      return 0
    } catch {
      complain(error, by: "migrate")
      return 1
    }
  }

  @LoopActor
  private static func check(_ postgres: PostgresClient) async -> Int32 {
    do {
      try await SchemaCheck(postgres).pass(within: .seconds(30))
      say("the schema has every step of this build")
      return 0
    } catch {
      complain(error, by: "migrate")
      return 1
    }
  }
}
