import Crypto
import EventLoop
import Ledger
import Postgres
import TestSupport
import Testing

@testable import Service

/// Which keys of the ledger's secrets a process has, without a ledger.
@LoopActor
struct SecretKeysWatchTests {
  /// What the ledger answers.
  @LoopActor
  private final class Secrets {
    var uses: [SecretKeysInUse.Use]?
    var reads = 0

    func read() throws -> SecretKeysInUse {
      reads += 1
      guard let uses else {
        throw PostgresError(.unreachable, operation: "count by key", target: "ledger", cause: "away")
      }
      return SecretKeysInUse(uses)
    }
  }

  private let bench: ServiceBench
  private let secrets = Secrets()

  init() throws {
    bench = try ServiceBench()
    bench.context.secretKeys = try SealingKeys([("new", [UInt8](repeating: 1, count: 32))])
  }

  private func watch(isNeeded: Bool = true, namesKeys: Bool = true) -> SecretKeysWatch {
    SecretKeysWatch(bench.context, isNeeded: isNeeded, namesKeys: namesKeys) { [secrets] in try secrets.read() }
  }

  private func counted(_ state: String, _ count: Int) -> Bool {
    bench.counts("countersign_webhook_secrets{state=\"\(state)\"} \(count)")
  }

  @Test func `the start looks, and a missing key is a line of readyz`() async {
    secrets.uses = [.init(keyId: "lost", endpoints: 2), .init(keyId: "new", endpoints: 3)]
    let watch = watch()
    #expect(watch.readiness.map { $0.result().line } == ["ok: secret keys"])
    await watch.start()
    #expect(secrets.reads == 1 && watch.missing == ["lost"] && counted("missing", 2) && counted("current", 3))
    let check = watch.readiness[0].result()
    #expect(!check.isReady)
    #expect(
      check.line == "not ready: secret keys: ledger.keysFile lacks the key lost, which secrets in the ledger need")
    await watch.start()
    #expect(secrets.reads == 1)
    await watch.stop(within: .seconds(60))
  }

  @Test func `where anybody may read it, no key is named`() async {
    secrets.uses = [.init(keyId: "lost", endpoints: 1)]
    let watch = watch(isNeeded: false, namesKeys: false)
    await watch.look()
    let check = watch.readiness[0].result()
    #expect(check.isReady && !check.line.contains("lost"))
  }

  @Test func `while the ledger is away, the last look counts, and the next one mends it`() async {
    let watch = watch()
    await watch.look()
    #expect(watch.missing.isEmpty)
    secrets.uses = [.init(keyId: "lost", endpoints: 1)]
    await watch.look()
    secrets.uses = nil
    await watch.look()
    #expect(watch.missing == ["lost"] && counted("missing", 1))
    secrets.uses = [.init(keyId: "new", endpoints: 1), .init(keyId: nil, endpoints: 4)]
    await watch.look()
    #expect(watch.missing.isEmpty && counted("missing", 0) && counted("current", 1) && counted("plain", 4))
  }

  @Test func `a watch that was stopped before its start never looks`() async {
    let watch = watch()
    await watch.stop(within: .zero)
    watch.close()
    await watch.start()
    #expect(secrets.reads == 0)
  }
}
