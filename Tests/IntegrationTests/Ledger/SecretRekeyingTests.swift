import Crypto
import Domain
import EventLoop
import Fleets
import Ledger
import Postgres
import ServerSupport
import Testing

/// `SecretRekeying` on a real ledger: it goes on where it was stopped, and beside changes.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct SecretRekeyingTests {
  private func keys(_ ids: String...) throws -> SealingKeys {
    try SealingKeys(ids.map { (id: $0, key: SHA256.hash(Array($0.utf8))) })
  }

  private func endpoint(_ number: Int) -> WebhookEndpoint {
    WebhookEndpoint(
      id: "ep_\(number)", url: "https://example.com/\(number)", topics: ["t"],
      secrets: [.init(key: [UInt8](repeating: UInt8(number), count: 32)), .init(key: [1], expiresAt: 99)])
  }

  /// Creates endpoints of two publishers under a key; without an id as plain text.
  private func create(_ ledger: PostgresClient, _ numbers: ClosedRange<Int>, _ keys: SealingKeys) async throws {
    for number in numbers {
      _ = try await WebhookEndpointStore(ledger) { keys }.create(PublisherId(Int64(1 + number % 2)), endpoint(number))
    }
  }

  private func inUse(_ ledger: PostgresClient) async throws -> [String] {
    try await SecretKeysInUse.read(ledger).uses.map { "\($0.keyId ?? "plain") \($0.endpoints)" }
  }

  /// Runs to the end of a pass.
  private func run(_ rekeying: SecretRekeying) async throws -> Int {
    var done = 0
    while let count = try await rekeying.step() { done += count }
    return done
  }

  private func expectAll(_ ledger: PostgresClient, _ numbers: ClosedRange<Int>, _ keys: SealingKeys) async throws {
    for number in numbers {
      let found = try await WebhookEndpointStore(ledger) { keys }.endpoint(
        PublisherId(Int64(1 + number % 2)), "ep_\(number)")
      #expect(found?.secrets == endpoint(number).secrets, "\(number)")
    }
  }

  @Test func `a run that was stopped is continued by the next one`() async throws {
    try await LedgerDatabase.migrated { ledger in
      try await create(ledger, 1...4, SealingKeys())
      try await create(ledger, 5...9, try keys("k1"))
      let new = try keys("k2", "k1")
      let versions = try await ledger.texts("SELECT revision || ' ' || updated_at FROM webhook_endpoints ORDER BY id")
      let revisions = try await ledger.texts("SELECT revision::text FROM webhook_revisions ORDER BY publisher_id")
      let audit = try await ledger.texts("SELECT count(*)::text FROM audit")
      let first = try #require(SecretRekeying(ledger, new, batch: 2))
      #expect(try await first.step() == 2)
      // Here the first run ends.
      let second = try #require(SecretRekeying(ledger, new, batch: 2))
      #expect(try await inUse(ledger).first == "k1 \(try await count(ledger, "k1"))")
      #expect(try await count(ledger, "k2") == 2)
      #expect(try await run(second) == 7)
      #expect(second.refused.isEmpty)
      #expect(try await inUse(ledger) == ["k2 9"])
      #expect(try await run(second) == 0)
      try await expectAll(ledger, 1...9, try keys("k2"))
      // No endpoint has another version, so no notifier reads it again.
      #expect(
        try await ledger.texts("SELECT revision || ' ' || updated_at FROM webhook_endpoints ORDER BY id") == versions)
      #expect(
        try await ledger.texts("SELECT revision::text FROM webhook_revisions ORDER BY publisher_id") == revisions)
      #expect(try await ledger.texts("SELECT count(*)::text FROM audit") == audit)
    }
  }

  private func count(_ ledger: PostgresClient, _ key: String) async throws -> Int {
    try await SecretKeysInUse.read(ledger).uses.first { $0.keyId == key }?.endpoints ?? 0
  }

  @Test func `rows of a missing key stay, and rows that were changed are told`() async throws {
    try await LedgerDatabase.migrated { ledger in
      try await create(ledger, 1...2, try keys("lost"))
      try await create(ledger, 3...8, try keys("k1"))
      // Another value, whatever the byte was: a fixed one is there already once in 256 times.
      try await ledger.execute(
        "UPDATE webhook_endpoints SET secrets = set_byte(secrets, 30, get_byte(secrets, 30) # 1) WHERE id = 'ep_4'")
      try await ledger.execute("UPDATE webhook_endpoints SET secrets = '{}', secrets_key = NULL WHERE id = 'ep_6'")
      let rekeying = try #require(SecretRekeying(ledger, try keys("k2", "k1"), batch: 1))
      for _ in 0..<2 {
        _ = try await run(rekeying)
        #expect(
          rekeying.refused == [
            "the secrets of endpoint ep_4 of publisher 1 are not the ones that were stored there under the key k1: another "
              + "key has this id, or somebody changed the row",
            "the secrets of endpoint ep_6 of publisher 1 cannot be read; perhaps a newer process wrote it",
          ])
      }
      #expect(try await inUse(ledger) == ["k1 1", "k2 4", "lost 2", "plain 1"])
      #expect(SecretRekeying(ledger, SealingKeys()) == nil)
    }
  }

  @Test func `plain rows stay and are told where they are refused`() async throws {
    try await LedgerDatabase.migrated { ledger in
      try await create(ledger, 1...1, SealingKeys())
      try await create(ledger, 2...3, try keys("k1"))
      let rekeying = try #require(SecretRekeying(ledger, try keys("k2", "k1"), refusesPlain: true))
      for done in [2, 0] {
        #expect(try await run(rekeying) == done)
        #expect(rekeying.refused.count == 1)
        #expect(rekeying.refused.first?.hasPrefix("the secrets of endpoint ep_1 of publisher 2 are plain text") == true)
      }
      #expect(try await inUse(ledger) == ["k2 2", "plain 1"])
    }
  }

  @Test func `a row that somebody holds is left for later`() async throws {
    try await LedgerDatabase.migrated { ledger in
      try await create(ledger, 1...3, try keys("k1"))
      let rekeying = try #require(SecretRekeying(ledger, try keys("k2", "k1")))
      try await ledger.transaction { other in
        _ = try await other.query(
          PostgresQuery(PostgresStatement("hold", "SELECT FROM webhook_endpoints WHERE id = 'ep_2' FOR UPDATE")))
        #expect(try await run(rekeying) == 2)
      }
      #expect(try await inUse(ledger) == ["k1 1", "k2 2"])
      #expect(try await run(rekeying) == 1)
      #expect(try await inUse(ledger) == ["k2 3"])
    }
  }

  @Test func `endpoints that rotate their secrets meanwhile lose none of them`() async throws {
    try await LedgerDatabase.migrated { ledger in
      try await create(ledger, 1...6, try keys("k1"))
      // Some gateways have the new key first already, and some do not.
      let stores = [try keys("k1", "k2"), try keys("k2", "k1")].map { keys in WebhookEndpointStore(ledger) { keys } }
      let rotations = (1...6).map { number in
        Task { @LoopActor in
          for round in 1...10 {
            _ = try await stores[round % 2].change(PublisherId(Int64(1 + number % 2)), "ep_\(number)") {
              endpoint, now in
              let room = endpoint.rotate(to: [UInt8(number), UInt8(round)], overlap: 3_600_000, now: now)
              #expect(room)
            }
          }
        }
      }
      let rekeying = try #require(SecretRekeying(ledger, try keys("k2", "k1"), batch: 2))
      for _ in 0..<5 { _ = try await run(rekeying) }
      for rotation in rotations { try await rotation.value }
      _ = try await run(rekeying)
      #expect(rekeying.refused.isEmpty)
      #expect(try await inUse(ledger) == ["k2 6"])
      let last = WebhookEndpointStore(ledger) { [keys = try keys("k2")] in keys }
      for number in 1...6 {
        let found = try #require(try await last.endpoint(PublisherId(Int64(1 + number % 2)), "ep_\(number)"))
        let rotated = (1...10).reversed().map { [UInt8(number), UInt8($0)] }
        #expect(found.secrets.map(\.key) == rotated + [endpoint(number).secrets[0].key])
      }
    }
  }
}
