import Crypto
import Domain
import EventLoop
import Fleets
import Formats
import Ledger
import Postgres
import ServerSupport
import TestSupport
import Testing

/// Webhook secrets under keys, in a real ledger.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct SecretsAtRestTests {
  private static let secret = Array("S3CRET-of-an-endpoint-that-nobody-may-read".utf8)

  private func keys(_ ids: String...) throws -> SealingKeys {
    try SealingKeys(ids.map { (id: $0, key: SHA256.hash(Array($0.utf8))) })
  }

  private func store(_ ledger: PostgresClient, _ keys: SealingKeys) -> WebhookEndpointStore {
    WebhookEndpointStore(ledger) { keys }
  }

  private func endpoint(_ id: EndpointId = "ep_a", key: [UInt8] = secret) -> WebhookEndpoint {
    WebhookEndpoint(id: id, url: "https://example.com/\(id)", topics: ["t"], secrets: [.init(key: key)])
  }

  private func create(_ store: WebhookEndpointStore, _ endpoint: WebhookEndpoint, publisher: PublisherId = 1)
    async throws
  {
    guard case .created = try await store.create(publisher, endpoint) else {
      throw NeverHappened(description: "the endpoint was not created")
    }
  }

  private func defect(
    _ store: WebhookEndpointStore, _ id: EndpointId = "ep_a", publisher: PublisherId = 1
  ) async throws -> WebhookEndpoint.SecretsDefect? {
    let found = try #require(try await store.endpoint(publisher, id))
    if found.secretsDefect != nil { #expect(found.secrets.isEmpty) }
    return found.secretsDefect
  }

  @Test func `no column shows a secret, and a store with the key reads it`() async throws {
    try await LedgerDatabase.migrated { ledger in
      let store = store(ledger, try keys("k1"))
      try await create(store, endpoint())
      let subscription = WebhookEndpoint(
        id: "ep_s", url: "https://example.com/s", topics: ["t"], secrets: [.init(key: Self.secret)],
        source: .subscription)
      _ = try await store.replace(1, topic: "t", with: [.init(endpoint: subscription, hasOwnKey: true)])
      let rows = try await ledger.texts("SELECT row_to_json(w)::text FROM webhook_endpoints w ORDER BY id")
      #expect(rows.count == 2)
      // `bytea` is shown in hexadecimal, and plain JSON holds the base64.
      let forms = [
        String(decoding: Self.secret, as: UTF8.self), Hex.encode(Self.secret), Base64.encode(Self.secret),
        Hex.encode(Array(Base64.encode(Self.secret).utf8)), Hex.encode(SHA256.hash(Self.secret)),
      ]
      for row in rows { for form in forms { #expect(!row.contains(form)) } }
      #expect(
        try await ledger.texts("SELECT secrets_key || coalesce(put_key, ' none') FROM webhook_endpoints") == [
          "k1 none", "k1 none",
        ])
      for id: EndpointId in ["ep_a", "ep_s"] {
        #expect(try await store.endpoint(1, id)?.secrets == [.init(key: Self.secret)])
        #expect(try await defect(store, id) == nil)
      }
      // The hash of the key that was put is sealed too, and still does its work.
      let before = try await store.endpoints(1)
      _ = try await store.replace(1, topic: "t", with: [.init(endpoint: subscription, hasOwnKey: true)])
      #expect(try await store.endpoints(1) == before)
    }
  }

  @Test func `a missing key is named, and spares the other endpoints`() async throws {
    try await LedgerDatabase.migrated { ledger in
      try await create(store(ledger, try keys("k1")), endpoint("ep_a"))
      try await create(store(ledger, try keys("k2")), endpoint("ep_b"))
      let second = store(ledger, try keys("k2"))
      let found = try #require(try await second.endpoints(1))
      #expect(found.endpoints.map(\.secretsDefect) == [.init(.missingKey, keyId: "k1"), nil])
      #expect(found.endpoints[0].secrets.isEmpty && found.endpoints[1].secrets == [.init(key: Self.secret)])
      #expect(!found.isWhole)
      let refusal = await #expect(throws: UnreadableSecrets.self) {
        _ = try await second.change(1, "ep_a") { endpoint, _ in endpoint.name = "x" }
      }
      #expect(
        "\(try #require(refusal))"
          == "the secrets of endpoint ep_a of publisher 1 are under the key k1, which ledger.keysFile lacks")
      // An overlap would end the old key too early. Without one, a new secret is the way out of a lost key.
      await #expect(throws: UnreadableSecrets.self) {
        _ = try await second.change(1, "ep_a") { _ = $0.rotate(to: [1], overlap: 1000, now: $1) }
      }
      _ = try await second.change(1, "ep_a") { _ = $0.rotate(to: [7, 7], overlap: 0, now: $1) }
      #expect(try await second.endpoints(1)?.isWhole == true)
      #expect(try await second.endpoint(1, "ep_a")?.secrets == [.init(key: [7, 7])])
      // With both keys, nothing is missing.
      #expect(try await store(ledger, try keys("k2", "k1")).endpoints(1)?.isWhole == true)
    }
  }

  @Test func `ciphertexts that changed their row, their key's id or a byte are refused`() async throws {
    try await LedgerDatabase.migrated { ledger in
      let store = store(ledger, try keys("k1", "k0"))
      for id: EndpointId in ["ep_a", "ep_b"] { try await create(store, endpoint(id)) }
      try await create(store, endpoint("ep_a"), publisher: 2)
      try await ledger.execute("CREATE TABLE kept AS SELECT * FROM webhook_endpoints")
      let changes = [
        "SET secrets = (SELECT secrets FROM kept WHERE publisher_id = 1 AND id = 'ep_b')",
        "SET secrets = (SELECT secrets FROM kept WHERE publisher_id = 2)",
        "SET secrets_key = 'k0'",
        "SET secrets = set_byte(secrets, 0, 2)",
        "SET secrets = set_byte(secrets, 20, get_byte(secrets, 20) # 1)",
        "SET secrets = set_byte(secrets, length(secrets) - 1, get_byte(secrets, length(secrets) - 1) # 1)",
        "SET secrets = ''",
        "SET id = 'ep_c'",
      ]
      for change in changes {
        let id: EndpointId = change.contains("ep_c") ? "ep_c" : "ep_a"
        try await ledger.execute("UPDATE webhook_endpoints \(change) WHERE publisher_id = 1 AND id = 'ep_a'")
        let found = try #require(try await defect(store, id), "\(change)")
        #expect(found.cause == .notAuthentic, "\(change)")
        let error = UnreadableSecrets(publisherId: 1, endpointId: id, defect: found)
        let key = try #require(found.keyId)
        #expect("\(error)".contains("endpoint \(id) of publisher 1") && "\(error)".contains("key \(key)"))
        #expect(try await defect(store, "ep_b") == nil)
        try await ledger.execute("DELETE FROM webhook_endpoints WHERE publisher_id = 1 AND id = '\(id)'")
        try await ledger.execute(
          "INSERT INTO webhook_endpoints SELECT * FROM kept WHERE publisher_id = 1 AND id = 'ep_a'")
        #expect(try await defect(store) == nil, "\(change)")
      }
    }
  }

  @Test func `plain secrets from before are read, and the next write seals them`() async throws {
    try await LedgerDatabase.migrated { ledger in
      let plain = WebhookEndpointStore(ledger)
      try await create(plain, endpoint())
      let subscription = WebhookEndpoint(
        id: "ep_s", url: "https://example.com/s", topics: ["t"], secrets: [.init(key: Self.secret)],
        source: .subscription)
      _ = try await plain.replace(1, topic: "t", with: [.init(endpoint: subscription, hasOwnKey: true)])
      // This is what an earlier version wrote, and writes in a rolling upgrade: it does not name the new column.
      #expect(
        try await ledger.texts("SELECT convert_from(secrets, 'UTF8') FROM webhook_endpoints WHERE secrets_key IS NULL")
          == Array(repeating: #"[{"key":"\#(Base64.encode(Self.secret))"}]"#, count: 2))
      let sealing = store(ledger, try keys("k1"))
      #expect(try await sealing.endpoint(1, "ep_a")?.secrets == [.init(key: Self.secret)])
      _ = try await sealing.change(1, "ep_a") { endpoint, _ in endpoint.name = "x" }
      _ = try await sealing.replace(
        1, topic: "t",
        with: [
          .init(
            endpoint: {
              var changed = subscription
              changed.retry = .never
              return changed
            }(), hasOwnKey: true)
        ])
      #expect(try await ledger.texts("SELECT secrets_key || put_key FROM webhook_endpoints") == ["null", "null"])
      #expect(try await ledger.texts("SELECT secrets_key FROM webhook_endpoints") == ["k1", "k1"])
      #expect(try await sealing.endpoint(1, "ep_a")?.secrets == [.init(key: Self.secret)])
      // A process without the file would undo that, so it stores nothing.
      await #expect(throws: MissingKeysFile.self) { try await create(plain, endpoint("ep_b")) }
      #expect(try await plain.endpoint(1, "ep_a")?.secretsDefect == .init(.missingKey, keyId: "k1"))
      // It can still switch off and delete.
      #expect(try await plain.disable(1, "ep_a"))
      #expect(try await plain.delete(1, "ep_a"))
    }
  }

  @Test func `a seal that somebody took off is noticed where plain secrets are refused`() async throws {
    try await LedgerDatabase.migrated { ledger in
      let keys = try keys("k1")
      let store = WebhookEndpointStore(ledger, refusesPlain: true) { keys }
      for id: EndpointId in ["ep_a", "ep_b"] { try await create(store, endpoint(id)) }
      #expect(try await store.endpoints(1)?.isWhole == true)
      try await ledger.execute(
        """
        UPDATE webhook_endpoints SET secrets_key = NULL, secrets = '[{"key":"AQID"}]' WHERE id = 'ep_a'
        """)
      // Others take the stranger's key.
      #expect(try await self.store(ledger, keys).endpoint(1, "ep_a")?.secrets == [.init(key: [1, 2, 3])])
      #expect(try await defect(store) == .init(.plainText, keyId: nil))
      #expect(try await defect(store, "ep_b") == nil)
      #expect(try await store.endpoints(1)?.endpoints.map(\.secretsDefect) == [.init(.plainText, keyId: nil), nil])
      let refusal = await #expect(throws: UnreadableSecrets.self) {
        _ = try await store.change(1, "ep_a") { endpoint, _ in endpoint.name = "x" }
      }
      #expect(
        "\(try #require(refusal))" == """
          the secrets of endpoint ep_a of publisher 1 are plain text, which ledger.refusesPlainSecrets forbids: a process \
          without keys wrote them, or somebody changed the row; run `countersign rekey`
          """)
      // A new secret is the way out.
      await #expect(throws: UnreadableSecrets.self) {
        _ = try await store.change(1, "ep_a") { _ = $0.rotate(to: [1], overlap: 1000, now: $1) }
      }
      _ = try await store.change(1, "ep_a") { _ = $0.rotate(to: [7, 7], overlap: 0, now: $1) }
      #expect(try await store.endpoint(1, "ep_a")?.secrets == [.init(key: [7, 7])])
      #expect(try await ledger.texts("SELECT secrets_key FROM webhook_endpoints") == ["k1", "k1"])
    }
  }

  @Test func `a process that refuses plain secrets writes none, even into an empty ledger`() async throws {
    try await LedgerDatabase.migrated { ledger async throws in
      let store = WebhookEndpointStore(ledger, refusesPlain: true)
      await #expect(throws: MissingKeysFile.self) { try await create(store, endpoint()) }
      #expect(try await ledger.texts("SELECT id FROM webhook_endpoints") == [])
    }
  }

  @Test func `a copy of the ledger is worth nothing without the key`() async throws {
    try await LedgerDatabase.migrated { ledger in
      let keys = try keys("k1")
      try await create(store(ledger, keys), endpoint())
      let dump = try await ledger.texts("SELECT row_to_json(w)::text FROM webhook_endpoints w")
      try await LedgerDatabase.migrated { restored in
        for row in dump {
          try await restored.execute(
            "INSERT INTO webhook_endpoints SELECT * FROM json_populate_record(NULL::webhook_endpoints, $row$\(row)$row$)"
          )
        }
        #expect(try await defect(store(restored, SealingKeys())) == .init(.missingKey, keyId: "k1"))
        // A new key with the old id is not the key.
        let other = try SealingKeys([(id: "k1", key: Array(repeating: 3, count: 32))])
        #expect(try await defect(store(restored, other)) == .init(.notAuthentic, keyId: "k1"))
        #expect(try await store(restored, keys).endpoint(1, "ep_a")?.secrets == [.init(key: Self.secret)])
        #expect(try await SecretKeysInUse.read(restored).missing(SealingKeys()) == ["k1"])
      }
    }
  }

  @Test func `the keys in use are counted as a process sees them`() async throws {
    try await LedgerDatabase.migrated { ledger in
      try await create(WebhookEndpointStore(ledger), endpoint("ep_0"))
      for (id, key) in [("ep_1", "k1"), ("ep_2", "k2"), ("ep_3", "k2")] as [(EndpointId, String)] {
        try await create(store(ledger, try keys(key)), endpoint(id))
      }
      let inUse = try await SecretKeysInUse.read(ledger)
      #expect(
        inUse
          == SecretKeysInUse([
            .init(keyId: "k1", endpoints: 1), .init(keyId: "k2", endpoints: 2), .init(keyId: nil, endpoints: 1),
          ]))
      #expect(inUse.counts(try keys("k2", "k1")) == [.current: 2, .old: 1, .plain: 1, .missing: 0])
      #expect(inUse.counts(try keys("k3")) == [.current: 0, .old: 0, .plain: 1, .missing: 3])
      #expect(inUse.missing(try keys("k1")) == ["k2"])
    }
  }
}
