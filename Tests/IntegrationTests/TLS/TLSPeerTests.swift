import EventLoop
import Fleets
import FoundationEssentials
import ServerSupport
import TestSupport
import Testing

/// What RabbitMQ's and Redis' clients say in a handshake, and which versions they accept.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct TLSPeerTests {
  @Test(arguments: TLSPeerTarget.allCases)
  func `a name is sent, so a server with several names shows the right certificate`(
    _ target: TLSPeerTarget
  ) async throws {
    try await TLSPeer.with(target, names: ["elsewhere.example"], named: ["localhost"]) { peer in
      try await target.logIn(host: "localhost", port: peer.port, caFile: peer.caFile)
      #expect(peer.handshakes.map(\.name) == ["localhost"])
      // Without the name, the server shows the other certificate.
      let refusal = try await target.refusal(host: "127.0.0.1", port: peer.port, caFile: peer.caFile)
      #expect(refusal?.operation == "shake hands over TLS")
      #expect(refusal?.cause.contains("IP address mismatch") == true, "\(String(describing: refusal))")
    }
  }

  @Test(arguments: TLSPeerTarget.allCases)
  func `an address is not sent as a name`(_ target: TLSPeerTarget) async throws {
    try await TLSPeer.with(target, names: ["127.0.0.1"], named: ["localhost"]) { peer in
      try await target.logIn(host: "127.0.0.1", port: peer.port, caFile: peer.caFile)
      #expect(peer.handshakes.count == 1)
      #expect(peer.handshakes.allSatisfy { $0.name == nil })
    }
  }

  @Test(arguments: TLSPeerTarget.allCases)
  func `a server that knows only TLS 1-2 is used`(_ target: TLSPeerTarget) async throws {
    try await TLSPeer.with(target, names: ["localhost"], only: "TLSv1_2") { peer in
      try await target.logIn(host: "localhost", port: peer.port, caFile: peer.caFile)
      #expect(peer.handshakes == [TLSPeer.Handshake(name: "localhost", version: "TLSv1.2")])
    }
  }

  @Test(arguments: TLSPeerTarget.allCases)
  func `a server that knows only TLS 1-1 is refused`(_ target: TLSPeerTarget) async throws {
    try await TLSPeer.with(target, names: ["localhost"], only: "TLSv1_1") { peer in
      let refusal = try await target.refusal(host: "localhost", port: peer.port, caFile: peer.caFile)
      #expect(refusal?.operation == "shake hands over TLS")
      #expect(refusal?.cause.contains("tlsv1 alert protocol version") == true, "\(String(describing: refusal))")
      #expect(peer.handshakes.isEmpty)
    }
  }

  @Test func `TLS 1-1 is refused even where the system's OpenSSL allows it`() async throws {
    try await TLSPeer.with(.rabbitmq, names: ["localhost"], only: "TLSv1_1") { peer in
      let system = try LaxOpenSSL()
      defer { system.remove() }
      let url = "amqps://localhost:\(peer.port)"
      let declare = try await system.run(
        Repository.products + "/countersign", "declare",
        with: ["COUNTERSIGN_RABBITMQ_URL": url, "COUNTERSIGN_RABBITMQ_CA_FILE": peer.caFile])
      #expect(declare.status == 1)
      #expect(declare.text.contains("shake hands over TLS"), "\(declare)")
      #expect(declare.text.contains("tlsv1 alert protocol version"), "\(declare)")
      #expect(peer.handshakes.isEmpty)
      // Another program gets in, so nothing else is wrong with this server.
      let other = try await system.run(
        "/usr/bin/env", "openssl", "s_client", "-connect", "127.0.0.1:\(peer.port)", "-servername", "localhost",
        "-CAfile", peer.caFile, "-verify_return_error")
      #expect(other.status == 0, "\(other)")
      #expect(peer.handshakes == [TLSPeer.Handshake(name: "localhost", version: "TLSv1.1")])
    }
  }
}
