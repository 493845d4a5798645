import AMQP
import Crypto
import EventLoop
import Fleets
import Formats
import FoundationEssentials
import ServerSupport
import TestSupport
import Testing

/// A real RabbitMQ over TLS.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct AMQPTLSTests {
  private let servers = TestServers.current!
  /// One node, so that its own refusal is told.
  private var endpoint: AMQPEndpoint {
    var endpoint = servers.encryptedRabbitMQ
    endpoint.nodes = [endpoint.nodes[0]]
    return endpoint
  }

  /// Publishes messages of many sizes and gets them back.
  private func exchange(_ endpoint: AMQPEndpoint) async throws {
    let connection = try await AMQPConnection.open(endpoint, name: "test")
    let channel = try await connection.openChannel()
    let queue = "test-\(UInt64.random(in: 0...UInt64.max))"
    try await channel.declareQueue(queue, arguments: ["x-queue-type": "quorum"])
    try await channel.enableConfirms()
    let received = Mailbox<AMQPDelivery>(of: "messages")
    try await channel.consume(queue, tag: "c") { received.put($0) }
    let sizes = Array(stride(from: 0, through: 60_000, by: 997)) + [2_000_000]
    let tasks = sizes.map { size in
      Task { @LoopActor in
        let body = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
        try await channel.publish(
          AMQPMessage(exchange: "", routingKey: queue, messageID: "\(size)", body: body), timeout: .seconds(300))
      }
    }
    for task in tasks { try await task.value }
    for delivery in try await received.wait(for: sizes.count) {
      #expect(delivery.properties.messageID == "\(delivery.body.count)")
      #expect(delivery.body.enumerated().allSatisfy { $1 == UInt8(truncatingIfNeeded: $0) })
      channel.acknowledge(delivery)
    }
    try await channel.deleteQueue(queue)
    await connection.close()
  }

  @Test func `messages of every size arrive whole`() async throws { try await exchange(endpoint) }

  private func external(_ certificate: String, _ key: String) -> AMQPEndpoint {
    var endpoint = endpoint
    endpoint.mechanism = .external
    // These must not count.
    (endpoint.user, endpoint.password) = ("nobody", "wrong")
    endpoint.tls?.certificateFile = certificate
    endpoint.tls?.privateKeyFile = key
    return endpoint
  }

  @Test func `a certificate logs in as the user whom it names`() async throws {
    try await exchange(external(servers.certificateFile("client.pem"), servers.certificateFile("client.key")))
  }

  private func failure(_ endpoint: AMQPEndpoint) async throws -> AMQPError {
    let error = await #expect(throws: AMQPError.self) { try await AMQPConnection.open(endpoint, name: "test") }
    #expect(error?.code == .unreachable && error?.target == endpoint.description)
    return try #require(error)
  }

  /// Runs a body with a certificate of an authority for a name.
  private func with(
    _ authority: CertificateAuthority, naming name: String, _ body: (AMQPEndpoint) async throws -> Void
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "amqp-tls-\(UInt64.random(in: 0 ... .max))", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let key = try IssuingKey.generate(.p256)
    let certificate = try authority.issue(CertificateProfile(commonName: name, use: .tlsClient), for: key)
    let (pem, keyFile) = (folder.appending(path: "own.pem"), folder.appending(path: "own.key"))
    try Data(certificate.pem.utf8).write(to: pem)
    try Data(key.pem.utf8).write(to: keyFile)
    try await body(external(pem.path, keyFile.path))
    try FileManager.default.removeItem(at: folder)
  }

  private func text(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: servers.certificateFile(name))), as: UTF8.self)
  }

  @Test func `a certificate for nobody is refused by RabbitMQ`() async throws {
    let authority = CertificateAuthority(
      certificate: try IssuedCertificate(pem: try text("ca.pem")), key: try IssuingKey(pem: try text("ca.key")))
    try await with(authority, naming: "stranger") { endpoint in
      let error = try await failure(endpoint)
      #expect(error.operation == "log in with a certificate to /" && error.cause.contains("ACCESS_REFUSED"))
    }
  }

  @Test func `a certificate of another authority is refused by RabbitMQ`() async throws {
    try await with(try CertificateAuthority.root(commonName: "Another", curve: .p256), naming: "guest") { endpoint in
      let error = try await failure(endpoint)
      #expect(error.cause.contains("unknown ca"))
    }
  }

  @Test func `without a certificate nobody logs in by certificate`() async throws {
    var bare = endpoint
    bare.mechanism = .external
    let error = try await failure(bare)
    #expect(error.operation == "log in with a certificate to /" && error.cause.contains("ACCESS_REFUSED"))
  }

  @Test func `a broker of an unknown authority is refused`() async throws {
    var stranger = endpoint
    stranger.tls = TLSClientFiles()
    let error = try await failure(stranger)
    #expect(error.operation == "shake hands over TLS")
    #expect(error.cause.contains("certificate verify failed"))
  }

  @Test func `a URL without TLS does not get into a port with TLS`() async throws {
    var plain = endpoint
    plain.tls = nil
    plain.connectTimeout = .seconds(20)
    let error = try await failure(plain)
    #expect(error.operation.hasPrefix("log in as guest to /"))
    #expect(error.cause.hasSuffix("; if this port speaks TLS, use amqps:// in the URL"), "\(error)")
  }
}
