import Crypto
import Domain
import EventLoop
import Fleets
import FoundationEssentials
import Ledger
import Postgres
import ServerSupport
import TestSupport
import Testing

/// `countersign rekey` as a process: its lines and its exit statuses.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct RekeyCommandTests {
  private func key(_ id: String) -> [UInt8] { SHA256.hash(Array(id.utf8)) }

  /// - Parameter ids: of the keys in the file; `nil` for a configuration without a file.
  private func rekey(
    _ ids: [String]?, _ endpoint: PostgresEndpoint, refusesPlain: Bool = false, options: [String] = []
  ) async throws -> (status: Int32, text: String) {
    let folder = FileManager.default.temporaryDirectory.appending(path: "countersign-rekey-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let keys = (ids ?? []).map { #"{"id": "\#($0)", "key": "\#(Base64.encode(key($0)))"}"# }.joined(separator: ",")
    try Data(#"{"keys": [\#(keys)]}"#.utf8).write(to: URL(filePath: folder + "/keys.json"))
    let url = TestServers.current!.ledgerURL(database: endpoint.database)
    let file = ids == nil ? "" : #", "keysFile": "keys.json""#
    let rule = refusesPlain ? #", "refusesPlainSecrets": true"# : ""
    try Data(#"{"ledger": {"url": "\#(url)"\#(file)\#(rule)}}"#.utf8).write(to: URL(filePath: folder + "/c.json"))
    let process = try ChildProcess(
      Repository.products + "/countersign", ["rekey", "--config", folder + "/c.json"] + options,
      output: folder + "/output")
    let status = try await process.ended()
    let text = String(decoding: try Data(contentsOf: URL(filePath: folder + "/output")), as: UTF8.self)
    for id in ids ?? [] { #expect(!text.contains(Base64.encode(key(id)))) }
    return (status, text)
  }

  private func create(_ ledger: PostgresClient, _ id: EndpointId, under keyId: String?) async throws {
    let keys = try keyId.map { try SealingKeys([(id: $0, key: key($0))]) } ?? SealingKeys()
    let new = WebhookEndpoint(id: id, url: "https://example.com", topics: ["t"], secrets: [.init(key: [1, 2])])
    _ = try await WebhookEndpointStore(ledger) { keys }.create(1, new)
  }

  private let free = "no secret is plain text: ledger.refusesPlainSecrets may be true from now on\n"

  @Test func `it encrypts anew, names a missing key, and then has nothing to do`() async throws {
    try await LedgerDatabase.with { address in
      let behind = try await rekey(["new"], address)
      #expect(behind.status == 1 && behind.text.contains("run `countersign migrate`"), "\(behind)")
      try await LedgerDatabase.client(address) { ledger in
        try await Migration(ledger) { _ in }.run()
        let empty = try await rekey(["new"], address)
        #expect(empty.status == 0 && empty.text == "no endpoint has a secret in the ledger\n\(free)", "\(empty)")
        try await create(ledger, "ep_0", under: nil)
        try await create(ledger, "ep_1", under: "old")
        try await create(ledger, "ep_2", under: "older")
        let lacking = try await rekey(["new", "old"], address)
        #expect(lacking.status == 1)
        #expect(
          lacking.text == """
            2 of 2 endpoints encrypted anew
            key new: 2 endpoints
            key older: 1 endpoint, which ledger.keysFile lacks
            no secret is plain text: ledger.refusesPlainSecrets may be true from now on
            countersign rekey: ledger.keysFile lacks the key older

            """)
        let listed = try await rekey(["new", "old"], address, options: ["--json"])
        #expect(
          listed.status == 1
            && listed.text == """
              {"key":"new","state":"current","endpoints":2}
              {"key":"older","state":"missing","endpoints":1}
              countersign rekey: ledger.keysFile lacks the key older

              """,
          "\(listed)")
        let whole = try await rekey(["new", "old", "older"], address)
        #expect(
          whole.status == 0 && whole.text == "1 of 1 endpoints encrypted anew\nkey new: 3 endpoints\n\(free)",
          "\(whole)")
        let again = try await rekey(["new"], address)
        #expect(again.status == 0 && again.text == "key new: 3 endpoints\n\(free)", "\(again)")

        // From now on plain text is refused, and a seal would hide who wrote it.
        let quiet = try await rekey(["new"], address, refusesPlain: true)
        #expect(quiet.status == 0 && quiet.text == "key new: 3 endpoints\n", "\(quiet)")
        try await ledger.execute("UPDATE webhook_endpoints SET secrets_key = NULL, secrets = '[]' WHERE id = 'ep_1'")
        let strange = try await rekey(["new"], address, refusesPlain: true)
        let found = "key new: 2 endpoints\nplain text: 1 endpoint, not encrypted yet\n"
        #expect(strange.status == 1 && strange.text.hasPrefix(found), "\(strange)")
        #expect(strange.text.contains("endpoint ep_1 of publisher 1 are plain text"))
        #expect(strange.text.contains("Only if you know who wrote them"))
        #expect(try await rekey(["new"], address).status == 0)
      }
    }
  }

  @Test func `a mistake in the settings ends with 2`() async throws {
    try await LedgerDatabase.with { address in
      let without = try await rekey(nil, address)
      #expect(
        without.status == 2 && without.text.contains("ledger.keysFile: is missing, expected a file"), "\(without)")
      let empty = try await rekey([], address)
      #expect(empty.status == 2 && empty.text.contains(#"ledger.keysFile: the file's "keys" is empty"#), "\(empty)")
    }
  }
}
