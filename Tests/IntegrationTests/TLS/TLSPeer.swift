import AMQP
import Crypto
import EventLoop
import Fleets
import Formats
import FoundationEssentials
import Glibc
import Redis
import TestSupport

/// A server that a client of ours reaches through a ``TLSPeer``.
@LoopActor
enum TLSPeerTarget: CaseIterable {
  case rabbitmq
  case redis

  /// Where the server is.
  var address: String {
    let servers = TestServers.current!
    return switch self {
    case .rabbitmq: servers.rabbitmq.nodes[0].description
    case .redis: servers.redis.address.description
    }
  }

  /// Logs in through a port with TLS, and out again.
  func logIn(host: String, port: Int, caFile: String) async throws {
    let tls = TLSClientFiles(caFile: caFile)
    switch self {
    case .rabbitmq:
      var endpoint = AMQPEndpoint(host: host, port: port)
      endpoint.tls = tls
      endpoint.connectTimeout = .seconds(300)
      await (try await AMQPConnection.open(endpoint, name: "test")).close()
    case .redis:
      var endpoint = RedisEndpoint(ServerAddress(host: host, port: port))
      endpoint.tls = tls
      endpoint.timeout = .seconds(300)
      let redis = try await RedisConnection.open(endpoint)
      defer { redis.close() }
      guard try await redis.send(["PING"]).string == "PONG" else { throw NeverHappened(description: "no PONG") }
    }
  }

  /// What a log-in failed at, and why; `nil` when it works.
  func refusal(host: String, port: Int, caFile: String) async throws -> (operation: String, cause: String)? {
    do {
      try await logIn(host: host, port: port, caFile: caFile)
      return nil
    } catch let error as AMQPError {
      return (error.operation, error.cause)
    } catch let error as RedisError {
      return (error.operation, error.cause)
    }
  }
}

/// A TLS server in front of RabbitMQ or Redis: `ops/development/tls_peer.py`.
@LoopActor
final class TLSPeer {
  /// A handshake that has succeeded.
  struct Handshake: Decodable, Equatable {
    /// The name that the client sent (SNI).
    let name: String?
    /// For example `TLSv1.3`.
    let version: String
  }

  let port: Int
  /// The authority of its certificates.
  let caFile: String
  private let output: String

  private init(port: Int, caFile: String, output: String) {
    (self.port, self.caFile, self.output) = (port, caFile, output)
  }

  /// The handshakes so far.
  ///
  /// The peer tells each one before it passes on the first byte.
  var handshakes: [Handshake] { Self.lines(of: output) }

  private static func lines<Line: Decodable>(of output: String) -> [Line] {
    let text = (try? Data(contentsOf: URL(filePath: output))).map { String(decoding: $0, as: UTF8.self) } ?? ""
    return text.split(separator: "\n").compactMap { try? JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
  }

  /// Runs a body with a peer.
  ///
  /// - Parameters:
  ///   - names: the names of the certificate for clients that send no name.
  ///   - named: names that get a certificate of their own, which carries nothing else.
  ///   - version: the only version of TLS, for example `TLSv1_2`.
  static func with(
    _ target: TLSPeerTarget, names: [String], named: [String] = [], only version: String? = nil,
    _ body: @LoopActor (TLSPeer) async throws -> Void
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.path + "/tls-peer-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let authority = try CertificateAuthority.root(commonName: "Authority of the peer", curve: .p256)
    func write(_ text: String, _ name: String) throws -> String {
      try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)"))
      return "\(folder)/\(name)"
    }
    func pem(_ names: [String]) throws -> String {
      let key = try IssuingKey.generate(.p256)
      let profile = CertificateProfile(commonName: names[0], use: .tlsServer(names: names))
      return try write(key.pem + (try authority.issue(profile, for: key)).pem, names[0] + ".pem")
    }
    let servers = TestServers.current!
    var words = ["python3", "-B", Repository.root + "/ops/development/tls_peer.py", "--to", target.address]
    words += ["--pem", try pem(names)]
    for name in named { words += ["--named", "\(name)=\(try pem([name]))"] }
    if TestServers.usesTLS { words += ["--to-ca", servers.certificateFile("ca.pem")] }
    if let version { words += ["--only", version] }
    let output = folder + "/output"
    let process = try ChildProcess("/usr/bin/env", words, output: output)
    struct Listening: Decodable { let port: Int }
    do {
      try await eventually("the peer listens") {
        if let status = process.status { throw NeverHappened(description: "the peer ended with \(status)") }
        return !(lines(of: output) as [Listening]).isEmpty
      }
      let port = (lines(of: output) as [Listening])[0].port
      try await body(TLSPeer(port: port, caFile: try write(authority.certificate.pem, "ca.pem"), output: output))
    } catch {
      await process.kill()
      throw error
    }
    await process.kill()
  }
}
