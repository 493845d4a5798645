import Crypto
import EventLoop
import Fleets
import Formats
import FoundationEssentials
import Postgres
import ServerSupport
import TestSupport
import Testing

/// Turns TLS on at the server, so these tests need it alone.
@Suite(
  .breakingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .disabled(if: TestServers.usesTLS, "TLS is on in any case"), .timeLimit(.minutes(30))
)
@LoopActor
struct PostgresTLSTests {
  private let authority: CertificateAuthority
  private let folder = FileManager.default.temporaryDirectory.appending(
    path: "postgres-tls-\(UInt64.random(in: 0 ... .max))", directoryHint: .isDirectory)

  init() throws {
    authority = try CertificateAuthority.root(commonName: "Authority of the tests", curve: .p256)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  private func file(_ authority: CertificateAuthority) throws -> String {
    let path = folder.appending(path: "\(UInt64.random(in: 0 ... .max)).pem").path
    try Data(authority.certificate.pem.utf8).write(to: URL(filePath: path))
    return path
  }

  /// Gives the server a certificate for these names and more settings, and takes them away again.
  private func withTLS(
    names: [String], _ more: [(name: String, value: String)] = [],
    _ body: @LoopActor (PostgresClient) async throws -> Void
  ) async throws {
    let key = try IssuingKey.generate(.p256)
    let profile = CertificateProfile(commonName: names[0], use: .tlsServer(names: names))
    let certificate = try authority.issue(profile, for: key)
    try await PostgresTestServer.with(connections: 1) { admin in
      func execute(_ sql: String) async throws {
        _ = try await admin.run(PostgresQuery(PostgresStatement("tls\(sql.hashValue)", sql)))
      }
      // The server's own user must own the key. The folder is the data of the server.
      for (name, pem) in [("countersign.crt", certificate.pem), ("countersign.key", key.pem)] {
        let lines = "SELECT unnest(string_to_array('\(pem)', E'\\n'))"
        try await execute("COPY (\(lines)) TO PROGRAM 'umask 077; cat > \(name)'")
      }
      let settings =
        more + [("ssl_cert_file", "countersign.crt"), ("ssl_key_file", "countersign.key"), ("ssl", "on")]
      for (name, value) in settings { try await execute("ALTER SYSTEM SET \(name) = '\(value)'") }
      try await execute("SELECT pg_reload_conf()")
      let result = await Result { try await body(admin) }
      for (name, _) in settings.reversed() { try await execute("ALTER SYSTEM RESET \(name)") }
      try await execute("SELECT pg_reload_conf() -- again")
      try await eventually("the end of TLS") { try await isEncrypted(false) }
      try result.get()
    }
    try FileManager.default.removeItem(at: folder)
  }

  private let usesTLS = PostgresQuery("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")

  /// Whether a new session has this state.
  private func isEncrypted(_ wanted: Bool) async throws -> Bool {
    var isEncrypted: Bool?
    try await PostgresTestServer.with(connections: 1) { isEncrypted = try await $0.run(usesTLS)[0].bool(0) }
    return isEncrypted == wanted
  }

  private func refusal(_ change: (inout PostgresEndpoint) -> Void) async throws -> String {
    var endpoint = PostgresTestServer.endpoint!.patient
    change(&endpoint)
    let losses = Mailbox<String>(of: "losses of the connections")
    let client = PostgresClient(endpoint) { change in
      if case .lost(let failure, _) = change { losses.put(failure.cause) }
    }
    client.start()
    let causes = try await losses.wait(for: 1)
    await client.stop()
    return causes[0]
  }

  @Test func `a server with the right certificate is used, and no other`() async throws {
    try await withTLS(names: ["localhost"]) { _ in
      try await eventually("TLS without a check") { try await isEncrypted(true) }
      let own = try file(authority)
      let port = PostgresTestServer.endpoint!.hosts[0].port
      try await PostgresTestServer.with(connections: 1) {
        $0.hosts = [ServerAddress(host: "localhost", port: port)]
        $0.caFile = own
      } _: { postgres in
        let value1 = try await postgres.run(usesTLS)[0].bool(0)
        #expect(value1 == true)
        // Results of many sizes: none may stay in the TLS layer.
        for size in stride(from: 1, through: 70_000, by: 997) {
          let rows = try await postgres.run(
            PostgresQuery("SELECT repeat('x', $1)", [.int32(Int32(size))]))
          #expect(rows[0].text(0)?.utf8.count == size)
        }
      }
      let other = try file(try CertificateAuthority.root(commonName: "Another authority", curve: .p256))
      let unknown = try await refusal {
        $0.hosts = [ServerAddress(host: "localhost", port: port)]
        $0.caFile = other
      }
      #expect(unknown.contains("certificate verify failed"))
      let misnamed = try await refusal {
        $0.hosts = [ServerAddress(host: "127.0.0.1", port: port)]
        $0.caFile = own
      }
      #expect(misnamed.contains("does not match host name"))
    }
  }

  @Test func `a server that knows only TLS 1-2 is used`() async throws {
    try await withTLS(names: ["localhost"], [("ssl_max_protocol_version", "TLSv1.2")]) { _ in
      let own = try file(authority)
      let port = PostgresTestServer.endpoint!.hosts[0].port
      try await PostgresTestServer.with(connections: 1) {
        $0.hosts = [ServerAddress(host: "localhost", port: port)]
        $0.caFile = own
      } _: { postgres in
        let version = PostgresQuery("SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        let found = try await postgres.run(version)[0].text(0)
        #expect(found == "TLSv1.2")
      }
    }
  }

  @Test func `a server that knows only TLS 1-1 is refused`() async throws {
    let versions = [("ssl_min_protocol_version", "TLSv1"), ("ssl_max_protocol_version", "TLSv1.1")]
    try await withTLS(names: ["localhost"], versions + [("ssl_ciphers", "DEFAULT:@SECLEVEL=0")]) { admin in
      // Before the server has read its new settings, it would refuse us for another reason.
      try await eventually("TLS") { try await admin.run(PostgresQuery("SHOW ssl"))[0].text(0) == "on" }
      let own = try file(authority)
      let cause = try await refusal {
        $0.hosts = [ServerAddress(host: "localhost", port: $0.hosts[0].port)]
        $0.caFile = own
      }
      #expect(cause.contains("tlsv1 alert protocol version"), "\(cause)")
      // Another program gets in, so nothing else is wrong with this server.
      let system = try LaxOpenSSL()
      defer { system.remove() }
      let url = TestServers.current!.ledgerURL(database: "countersign").replacing("127.0.0.1", with: "localhost")
      let psql = try await system.run(
        "/usr/bin/env", "psql", "-XqAt", "-d", "\(url)?sslmode=verify-full&sslrootcert=\(own)", "-c",
        "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
        with: ["PGSSLMINPROTOCOLVERSION": "TLSv1"])
      #expect(psql.status == 0 && psql.text == "TLSv1.1\n", "\(psql)")
    }
  }

  @Test func `a server without TLS is refused when there is a file of authorities`() async throws {
    let own = try file(authority)
    let cause = try await refusal { $0.caFile = own }
    #expect(cause.contains("SSL") || cause.contains("channel binding"))
    try FileManager.default.removeItem(at: folder)
  }
}

extension Result where Failure == any Error {
  /// The outcome of an asynchronous call.
  @LoopActor
  fileprivate init(_ body: @LoopActor () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
