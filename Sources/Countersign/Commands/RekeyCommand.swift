import Configuration
import Crypto
import EventLoop
import JSON
import Ledger
import Postgres
import Service

/// `countersign rekey`: encrypts the secrets in the ledger with the first key of `ledger.keysFile`.
///
/// It may run beside the roles, may be stopped at any time, and goes on where the last run was stopped.
enum RekeyCommand {
  static let command = Command(
    name: "rekey",
    summary: "encrypts the secrets of webhook endpoints in the ledger with the first key of ledger.keysFile",
    synopsis: "--config FILE [--json]",
    options: [.configuration, CommandOption("--json", "prints only how many endpoints each key has, as JSON")],
    run: run)

  @LoopActor
  static func run(_ arguments: [String]) async -> Int32 {
    let keys: SealingKeys
    let refusesPlain: Bool
    let isJSON = arguments.contains("--json")
    let endpoint: PostgresEndpoint
    do {
      // The command does not read the publishers' files: it needs none of them.
      let loader = try ConfigurationLoader(arguments.filter { $0 != "--json" }, command: "rekey")
      let settings = try loader.settings(for: [.rekey]).ledger
      keys = try settings.readKeys()
      refusesPlain = settings.refusesPlainSecrets
      guard keys.first != nil else { throw loader.mistake(LedgerSettings.keysFileKey, "is missing, expected a file") }
      endpoint = try PostgresEndpoint(settings, name: "countersign rekey")
    } catch {
      complain("\(error)")
      return 2
    }
    let postgres = await PostgresClient.opened(endpoint)
    let status = await rekey(postgres, keys, refusesPlain, isJSON)
    await postgres.stop()
    return status
  }

  /// How often it begins again while rows stay behind that somebody else holds.
  private static let passes = 10

  @LoopActor
  private static func rekey(
    _ postgres: PostgresClient, _ keys: SealingKeys, _ refusesPlain: Bool, _ isJSON: Bool
  ) async -> Int32 {
    do {
      try await SchemaCheck(postgres).pass(within: .seconds(30))
      guard let rekeying = SecretRekeying(postgres, keys, refusesPlain: refusesPlain) else { return 2 }
      let all = try await left(postgres, keys)
      var done = 0
      for pass in 1...passes {
        while let count = try await rekeying.step() {
          done += count
          if count > 0, !isJSON { say("\(done) of \(all) endpoints encrypted anew") }
        }
        // A row that cannot be read stays; a row that somebody holds is free in a moment.
        guard try await left(postgres, keys) > rekeying.refused.count, pass < passes else { break }
        try await EventLoop.sleep(for: .milliseconds(200))
      }
      let inUse = try await SecretKeysInUse.read(postgres)
      if isJSON { list(inUse, keys) } else { tell(inUse, keys, refusesPlain) }
      return judge(inUse, keys, refusesPlain, rekeying.refused)
    } catch {
      complain(error, by: "rekey")
      return 1
    }
  }

  /// The number of endpoints that the command could encrypt.
  @LoopActor
  private static func left(_ postgres: PostgresClient, _ keys: SealingKeys) async throws -> Int {
    let counts = try await SecretKeysInUse.read(postgres).counts(keys)
    return (counts[.old] ?? 0) + (counts[.plain] ?? 0)
  }

  /// Lists how many endpoints each key has, for a program.
  private static func list(_ inUse: SecretKeysInUse, _ keys: SealingKeys) {
    for use in inUse.uses {
      say(
        jsonLine { json in
          json.member("key", use.keyId)
          json.member("state", SecretKeysInUse.state(use, keys).rawValue)
          json.member("endpoints", Int64(use.endpoints))
        })
    }
  }

  /// Says how many endpoints each key has.
  private static func tell(_ inUse: SecretKeysInUse, _ keys: SealingKeys, _ refusesPlain: Bool) {
    for use in inUse.uses {
      let count = "\(use.endpoints) endpoint\(use.endpoints == 1 ? "" : "s")"
      switch SecretKeysInUse.state(use, keys) {
      case .current: say("key \(use.keyId ?? ""): \(count)")
      case .old: say("key \(use.keyId ?? ""): \(count), not encrypted anew yet")
      case .plain: say("plain text: \(count), not encrypted yet")
      case .missing: say("key \(use.keyId ?? ""): \(count), which ledger.keysFile lacks")
      }
    }
    if inUse.uses.isEmpty { say("no endpoint has a secret in the ledger") }
    if inUse.counts(keys)[.plain] == 0, !refusesPlain {
      say("no secret is plain text: ledger.refusesPlainSecrets may be true from now on")
    }
  }

  /// Says what must still be done; returns the exit status.
  private static func judge(
    _ inUse: SecretKeysInUse, _ keys: SealingKeys, _ refusesPlain: Bool, _ refused: [String]
  ) -> Int32 {
    let counts = inUse.counts(keys)
    for line in refused { complain("countersign rekey: \(line)") }
    let missing = inUse.missing(keys)
    if !missing.isEmpty {
      complain("countersign rekey: ledger.keysFile lacks the key \(missing.joined(separator: ", "))")
    }
    if counts[.plain] != 0, refusesPlain {
      complain(
        "countersign rekey: with ledger.refusesPlainSecrets, plain text stays as it is. Replace these secrets. Only if "
          + "you know who wrote them, run the command with COUNTERSIGN_LEDGER_REFUSES_PLAIN_SECRETS=false")
    }
    let isDone = missing.isEmpty && counts[.old] == 0 && counts[.plain] == 0
    if !isDone, missing.isEmpty, refused.isEmpty { complain("countersign rekey: some rows stayed busy; run it again") }
    return isDone ? 0 : 1
  }
}
