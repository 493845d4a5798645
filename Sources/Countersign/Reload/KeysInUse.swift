import Configuration
import Crypto
import EventLoop
import Ledger
import Postgres
import Service

/// The reason why a running role does not take a new file of keys. The text names keys by their ids.
enum KeysInUse: Error, CustomStringConvertible {
  /// Secrets in the ledger need these keys, which the file no longer contains.
  case needed([String])
  /// The file no longer contains these keys, and the ledger does not say whether secrets need them.
  case unknown([String], cause: any Error)

  var description: String {
    switch self {
    case .needed(let ids): "\(Self.gone(ids)), and secrets in the ledger need it: run countersign rekey first"
    case .unknown(let ids, let cause):
      "\(Self.gone(ids)), and the ledger cannot be asked whether secrets need it: \(cause)"
    }
  }

  private static func gone(_ ids: [String]) -> String {
    "ledger.keysFile no longer contains the key \(ids.joined(separator: ", "))"
  }

  /// Asks the ledger whether secrets need a key that new keys lack. If they lack none, it asks nobody.
  ///
  /// - Parameter read: asks the ledger which keys its secrets need.
  /// - Throws: ``KeysInUse``.
  @LoopActor
  static func check(
    _ new: SealingKeys, after old: SealingKeys, _ read: @LoopActor () async throws -> SecretKeysInUse
  ) async throws(KeysInUse) {
    let dropped = old.dropped(by: new)
    guard !dropped.isEmpty else { return }
    let inUse: SecretKeysInUse
    do {
      inUse = try await read()
    } catch {
      throw .unknown(dropped, cause: error)
    }
    let lost = inUse.lost(from: old, to: new)
    if !lost.isEmpty { throw .needed(lost) }
  }

  /// Asks the ledger on a connection of its own: the login of the present ones may no longer be valid.
  @LoopActor
  static func read(_ settings: LedgerSettings) async throws -> SecretKeysInUse {
    let postgres = await PostgresClient.opened(try PostgresEndpoint(settings, name: "countersign reload"))
    do {
      let inUse = try await SecretKeysInUse.read(postgres)
      await postgres.stop()
      return inUse
    } catch {
      await postgres.stop()
      throw error
    }
  }
}
