import Configuration
import Crypto
public import EventLoop
import Ledger
import Observability
public import Postgres

/// Compares the keys of this process with the keys that the ledger's secrets need, at the start and from time to time.
@LoopActor
public final class SecretKeysWatch: RoleService {
  private let context: RoleContext
  private let read: @LoopActor () async throws -> SecretKeysInUse
  private let endpoints: Gauge
  private let isNeeded: Bool
  private let namesKeys: Bool
  private var phase = ServicePhase.new
  private lazy var looks = Chore(every: Self.interval, after: Self.interval, .dropped) { [weak self] in
    await self?.look()
  }
  /// The ids of keys that this process lacks, as of the last look.
  public private(set) var missing: [String] = []
  private var lastTold: String?

  /// How often it looks.
  private static let interval = Duration.seconds(30)

  /// Creates a watch without starting it.
  ///
  /// - Parameters:
  ///   - isNeeded: whether the role is not ready without the keys.
  ///   - namesKeys: whether the line of `/readyz` names missing keys. Where anybody may read it, only the log does.
  public convenience init(_ context: RoleContext, _ postgres: PostgresClient, isNeeded: Bool, namesKeys: Bool) {
    self.init(context, isNeeded: isNeeded, namesKeys: namesKeys) { try await SecretKeysInUse.read(postgres) }
  }

  /// - Parameter read: asks the ledger which keys its secrets need.
  init(
    _ context: RoleContext, isNeeded: Bool, namesKeys: Bool,
    read: @escaping @LoopActor () async throws -> SecretKeysInUse
  ) {
    (self.context, self.read) = (context, read)
    (self.isNeeded, self.namesKeys) = (isNeeded, namesKeys)
    endpoints = context.metrics.gauge(
      "countersign_webhook_secrets", "Endpoints in the ledger, by the encryption of their secrets.",
      labels: ["state"])
    for state in SecretKeysInUse.State.allCases { endpoints.set(0, state.rawValue) }
  }

  /// Looks once and then again and again. While the ledger is away, the last look counts.
  public func start() async {
    guard phase.start() else { return }
    await look()
    looks.start()
  }

  /// Stops looking.
  public func close() { looks.close() }

  public func stop(within grace: Duration) async {
    _ = phase.stop()
    await looks.stop(within: grace)
  }

  /// A line of `/readyz` about missing keys.
  public var readiness: [ReadinessCheck] {
    [
      ReadinessCheck("secret keys", isNeeded: isNeeded) { [weak self] in
        guard let self, !missing.isEmpty else { return nil }
        return namesKeys ? Self.lacks(missing) : "ledger.keysFile lacks a key that secrets in the ledger need"
      }
    ]
  }

  /// Looks once.
  public func look() async {
    do {
      let (inUse, keys) = (try await read(), context.secretKeys)
      let counts = inUse.counts(keys)
      for (state, count) in counts { endpoints.set(Double(count), state.rawValue) }
      missing = inUse.missing(keys)
      tell(plain: counts[.plain] ?? 0, hasKeys: keys.first != nil)
    } catch {
      context.log.debug("the keys in use could not be read", ["cause": .failure(error)])
    }
  }

  /// Logs what is wrong, and each change of it once.
  private func tell(plain: Int, hasKeys: Bool) {
    let refusesPlain = context.settings.ledger.refusesPlainSecrets
    let advice: String? =
      if !missing.isEmpty {
        Self.lacks(missing)
      } else if plain == 0 {
        nil
      } else if refusesPlain {
        "secrets in the ledger are plain text, which ledger.refusesPlainSecrets forbids: run countersign rekey"
      } else if hasKeys {
        "secrets in the ledger are plain text: run countersign rekey"
      } else {
        "secrets in the ledger are plain text: set ledger.keysFile, and run countersign rekey"
      }
    guard advice != lastTold else { return }
    lastTold = advice
    guard let advice else { return context.log.info("every secret in the ledger can be read, and none is plain text") }
    guard missing.isEmpty else { return context.log.error(advice) }
    let write = refusesPlain ? context.log.error : context.log.warning
    write(advice, ["endpoints": .int(Int64(plain))])
  }

  private static func lacks(_ ids: [String]) -> String {
    "ledger.keysFile lacks the key \(ids.joined(separator: ", ")), which secrets in the ledger need"
  }
}
