import AMQP
import Crypto
import EventLoop
import Fleets
import FoundationEssentials
import Redis
import ServerSupport
import Testing

/// Certificates that change while a whole fleet works: those of its roles, and those of the servers.
@Suite(
  .breakingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .disabled(if: TestServers.current?.isCluster == true, "it stops the servers, which may be alone"),
  .timeLimit(.minutes(60))
)
@LoopActor
struct ReloadCertificateTests {
  private let servers = TestServers.current!
  private let user = "role-\(UInt32.random(in: 0...UInt32.max))"
  private let roles = ["gateway-1", "gateway-2", "worker-1", "worker-2", "notifier-1", "notifier-2"]

  /// A certificate of the roles with its key. RabbitMQ logs it in.
  private func issue(
    _ authority: CertificateAuthority, trusting authorities: CertificateAuthority...
  ) throws -> [String: String] {
    let key = try IssuingKey.generate(.p256)
    let certificate = try authority.issue(CertificateProfile(commonName: user, use: .tlsClient), for: key)
    let ca = authorities.map(\.certificate.pem).joined()
    return ["ca.pem": ca, "own.pem": certificate.pem, "own.key": key.pem]
  }

  private func text(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: servers.certificateFile(name))), as: UTF8.self)
  }

  /// Starts the servers again, perhaps with other certificates. All their connections end.
  private func restart(_ authority: CertificateAuthority? = nil) async throws {
    let all: [TestServers.Server] = [.rabbitmq, .redis] + (TestServers.usesTLS ? [.postgres] : [])
    for server in all { try await servers.stop(server) }
    if let authority { try renew(authority) }
    for server in all { try await servers.start(server) }
  }

  /// Gives the servers an authority, which they trust alone, and certificates of it.
  private func renew(_ authority: CertificateAuthority) throws {
    func write(_ name: String, _ text: String) throws {
      try Data(text.utf8).write(to: URL(filePath: servers.certificateFile(name)))
    }
    try write("ca.pem", authority.certificate.pem)
    try write("ca.key", authority.key.pem)
    let uses: [(String, CertificateProfile)] = [
      ("server", CertificateProfile(commonName: "localhost", use: .tlsServer(names: ["localhost", "127.0.0.1"]))),
      ("client", CertificateProfile(commonName: "guest", use: .tlsClient)),
    ]
    for (name, profile) in uses {
      let key = try IssuingKey.generate(.p256)
      try write("\(name).pem", try authority.issue(profile, for: key).pem)
      try write("\(name).key", key.pem)
    }
  }

  /// Both servers no longer know the authority of these files.
  private func expectRefusal(_ tls: TLSClientFiles) async throws {
    var broker = servers.encryptedRabbitMQ
    (broker.mechanism, broker.tls) = (.external, tls)
    let first = await #expect(throws: AMQPError.self) { try await AMQPConnection.open(broker, name: "test") }
    #expect(first?.cause.contains("unknown ca") == true, "\(String(describing: first))")
    var store = servers.encryptedRedis
    store.tls = tls
    let second = await #expect(throws: RedisError.self) { try await RedisConnection.open(store) }
    #expect(second?.cause.contains("unknown ca") == true, "\(String(describing: second))")
  }

  /// Redis asks for a certificate, or takes clients without one.
  private func askForCertificates(_ value: String) async throws {
    var store = servers.encryptedRedis
    store.tls?.certificateFile = servers.certificateFile("client.pem")
    store.tls?.privateKeyFile = servers.certificateFile("client.key")
    let admin = try await RedisConnection.open(store)
    defer { admin.close() }
    _ = try await admin.send(["CONFIG", "SET", "tls-auth-clients", value])
    _ = try await admin.send(["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"])
  }

  /// The settings of the roles: RabbitMQ and Redis over TLS, with the files of a folder.
  private func overrides(_ folder: String) -> [String: String] {
    var all = [
      "COUNTERSIGN_RELOAD_SECONDS": "0.2",
      // The certificate logs in.
      "COUNTERSIGN_RABBITMQ_URL": "amqps://\(servers.encryptedRabbitMQ)/%2F",
      "COUNTERSIGN_REDIS_URL": "rediss://\(servers.encryptedRedis)/0",
    ]
    for server in ["RABBITMQ", "REDIS"] {
      all["COUNTERSIGN_\(server)_CA_FILE"] = folder + "/ca.pem"
      all["COUNTERSIGN_\(server)_CERTIFICATE_FILE"] = folder + "/own.pem"
      all["COUNTERSIGN_\(server)_PRIVATE_KEY_FILE"] = folder + "/own.key"
    }
    if TestServers.usesTLS { all["COUNTERSIGN_LEDGER_CA_FILE"] = folder + "/ca.pem" }
    return all
  }

  @Test func `certificates and authorities that change under load lose no job, and restart no role`() async throws {
    let folder = FileManager.default.temporaryDirectory.path + "/countersign-\(user)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let mount = try MountedFolder(folder)
    let old = CertificateAuthority(
      certificate: try IssuedCertificate(pem: try text("ca.pem")), key: try IssuingKey(pem: try text("ca.key")))
    let new = try CertificateAuthority.root(commonName: "New authority of private servers", curve: .p256)
    try await servers.setPassword(of: user, to: "never-used")
    try mount.put(1, try issue(old, trusting: old))
    try await RunningFleet.with(roles, overrides: overrides(folder)) { fleet in
      let processes = roles.map { fleet.roles[$0]?.process.pid }
      let accepted = try await RegistrationLoad.with(fleet) { load in
        try await load.goOn()
        // Both authorities, and already a certificate of the new one, which no server knows yet.
        try mount.put(2, try issue(new, trusting: old, new))
        try await fleet.reloaded(roles, times: 1)
        // The servers change. Each role must connect anew, with the new certificate only.
        try await restart(new)
        try await expectRefusal(
          TLSClientFiles(
            caFile: servers.certificateFile("ca.pem"), certificateFile: folder + "/..1/own.pem",
            privateKeyFile: folder + "/..1/own.key"))
        try await askForCertificates("yes")
        for role in roles { try await fleet.ready(role) }
        try await load.goOn()

        // The old authority goes, and the certificate is renewed.
        let last = try issue(new, trusting: new)
        try mount.put(3, last)
        try await fleet.reloaded(roles, times: 2)

        // A key that does not fit: the roles hold the old set, and connect with it.
        let key = try IssuingKey.generate(.p256).pem
        try mount.put(4, last.merging(["own.key": key]) { $1 })
        try await fleet.refused(roles)
        for role in roles { #expect(fleet.log(role).contains("key values mismatch"), "\(role)") }
        try await restart()
        try await askForCertificates("yes")
        for role in roles { try await fleet.ready(role) }
        try await load.goOn()

        try mount.put(5, try issue(new, trusting: new))
        try await fleet.reloaded(roles, times: 3)
        try await askForCertificates("optional")
        try await load.goOn()
      }
      _ = try await fleet.finished(accepted)
      #expect(roles.map { fleet.roles[$0]?.process.pid } == processes)
      #expect(roles.allSatisfy { fleet.roles[$0]?.process.status == nil })
      #expect(fleet.logged("PRIVATE KEY").isEmpty)
    }
  }
}
