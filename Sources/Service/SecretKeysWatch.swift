import Configuration
import Crypto
public import EventLoop
import Ledger
import Observability
public import Postgres

/// Compares the keys of this process with those that the ledger's secrets need, at the start and from time to time.
@LoopActor
public final class SecretKeysWatch {
  private let context: RoleContext
  private let ledger: PostgresClient
  private let endpoints: Gauge
  private var task: Task<Void, Never>?
  /// The ids of keys that this process lacks, as of the last look.
  public private(set) var missing: [String] = []
  private var lastTold: String?

  /// Creates a watch without starting it.
  public init(_ context: RoleContext, _ ledger: PostgresClient) {
    self.context = context
    self.ledger = ledger
    endpoints = context.metrics.gauge(
      "countersign_webhook_secrets", "Endpoints in the ledger, by how their secrets are kept as this process sees it.",
      labels: ["state"])
    for state in SecretKeysInUse.State.allCases { endpoints.set(0, state.rawValue) }
  }

  /// Looks once and then again and again. While the ledger is away, the last look counts.
  public func start(every interval: Duration = .seconds(30)) async {
    await look()
    task = Task { @LoopActor [weak self] in
      while !Task.isCancelled {
        try? await EventLoop.sleep(for: interval)
        await self?.look()
      }
    }
  }

  /// Ends the looks.
  public func stop() { task?.cancel() }

  /// A line of `/readyz` about missing keys.
  ///
  /// - Parameters:
  ///   - isNeeded: whether the role is not ready without them.
  ///   - namesKeys: whether the line names them. Where anybody may read it, only the log does.
  public func check(isNeeded: Bool, namesKeys: Bool) -> ReadinessCheck {
    ReadinessCheck("secret keys", isNeeded: isNeeded) { [weak self] in
      guard let missing = self?.missing, !missing.isEmpty else { return nil }
      return namesKeys ? Self.lacks(missing) : "ledger.keysFile lacks a key that secrets in the ledger need"
    }
  }

  /// Looks once.
  public func look() async {
    do {
      let (inUse, keys) = (try await SecretKeysInUse.read(ledger), context.secretKeys)
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
