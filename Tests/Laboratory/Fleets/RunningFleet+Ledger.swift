import Configuration
import Domain
import Doors
import EventLoop
import FoundationEssentials
import Ledger
import Postgres
import TestSupport

extension RunningFleet {
  /// Creates the fleet's database with the schema of its executable.
  func createLedger() async throws {
    let servers = TestServers.current!
    if executable == Self.thisBuild { return try await servers.createLedger(database) }
    try await servers.createDatabase(database)
    _ = try await command(["migrate"])
  }

  /// Runs a subcommand with the fleet's configuration; returns what it printed.
  ///
  /// - Throws: `ChildProcess.Failure` when it ends with another status than 0.
  public func command(_ words: [String]) async throws -> String {
    let log = folder + "/\(words[0]).log"
    try? FileManager.default.removeItem(atPath: log)
    let process = try ChildProcess(
      executable, words + ["--config", folder + "/countersign.json"],
      environment: ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("COUNTERSIGN_") }, output: log)
    let status = try await process.ended()
    let text = (try? Data(contentsOf: URL(filePath: log))).map { String(decoding: $0, as: UTF8.self) } ?? ""
    guard status == 0 else {
      throw ChildProcess.Failure(description: "countersign \(words[0]) ended with \(status): \(text)")
    }
    return text
  }

  /// Deletes the fleet's database. If the server is away, it keeps it until somebody deletes the server's data.
  ///
  /// With a standby, it keeps it, too: the test may have killed the primary for ever, and whoever uses a standby
  /// deletes the data of both servers (`forgetStandby`).
  func dropLedger() async {
    guard !hasStandby else { return }
    try? await TestServers.current!.dropDatabase(database)
  }

  /// The hosts of the ledger; `nil` for its server alone.
  var ledgerPorts: [Int]? { hasStandby ? [TestServers.current!.postgres, TestServers.current!.standby] : nil }

  /// Checks the ledger of a fleet at rest: what it holds follows from the kept evidence, owners and offers.
  ///
  /// - Returns: one line for each difference.
  public func ledgerDifferences() async throws -> [String] {
    let loader = ConfigurationLoader(file: folder + "/countersign.json", environment: [:], doors: DoorRegistry.all)
    let settings = try loader.settings()
    let publishers = try loader.publishers(
      in: settings.publishersFolder, addresses: settings.notifier.webhookAddress)
    return try await withLedger {
      try await LedgerCheck.differences(in: $0, publishers: publishers.all, now: unixMilliseconds())
    }
  }

  /// Counts rows of the ledger.
  public func count(_ table: String) async throws -> Int64 {
    try await read("SELECT count(*) AS count FROM \(table)").first?.int64("count") ?? 0
  }

  /// The column `text` of what the ledger answers.
  public func texts(_ sql: String) async throws -> [String] {
    try await read(sql).compactMap { try $0.text("text") }
  }

  /// Reads over a connection that stays: a test that waits for something in the ledger asks for it again and again.
  private func read(_ sql: String) async throws -> PostgresRows {
    // A statement's name is short, and each text has its own.
    let query = PostgresQuery(PostgresStatement("read \(sql.hashValue)", sql))
    if ledgerReader == nil {
      let reader = PostgresClient(try ledgerEndpoint(), connections: 1)
      ledgerReader = reader
      reader.start()
      try await eventually("a connection to PostgreSQL") { reader.isReady }
    }
    if let rows = try? await ledgerReader?.run(query) { return rows }
    // The server was away, or is another one now.
    return try await withLedger { try await $0.run(query) }
  }

  /// Ends the connection of ``count(_:)`` and ``texts(_:)``.
  func closeLedgerReader() async {
    await ledgerReader?.stop()
    ledgerReader = nil
  }

  /// Runs a statement on the ledger, as somebody would who may write to its tables.
  public func execute(_ statement: String) async throws {
    _ = try await withLedger { try await $0.run(PostgresQuery(PostgresStatement("test", statement))) }
  }

  func withLedger<Result>(_ body: @LoopActor (PostgresClient) async throws -> Result) async throws -> Result {
    try await PostgresClient.running(try ledgerEndpoint(), body)
  }

  private func ledgerEndpoint() throws -> PostgresEndpoint {
    let url = TestServers.current!.ledgerURL(database: database, ports: ledgerPorts)
    return try PostgresEndpoint(url: url, password: nil, caFile: nil)
  }
}
