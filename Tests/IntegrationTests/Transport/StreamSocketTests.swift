import Crypto
import EventLoop
import Fleets
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Transport

/// Connections to servers of this process, which break on purpose.
@Suite(.timeLimit(.minutes(30)))
@LoopActor
struct StreamSocketTests {
  private let authority: CertificateAuthority
  private let folder = FileManager.default.temporaryDirectory.appending(
    path: "stream-\(UInt64.random(in: 0 ... .max))", directoryHint: .isDirectory)
  private let files: TLSClientFiles

  init() throws {
    authority = try CertificateAuthority.root(commonName: "Authority of the tests", curve: .p256)
    files = TLSClientFiles(caFile: folder.appending(path: "ca.pem").path)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data(authority.certificate.pem.utf8).write(to: folder.appending(path: "ca.pem"))
  }

  private func server(
    names: [String] = ["127.0.0.1"], notAfter: Duration = .seconds(86_400), pace: Int = .max
  ) throws -> EchoServer {
    let key = try IssuingKey.generate(.p256)
    let profile = CertificateProfile(commonName: names[0], use: .tlsServer(names: names), notAfter: notAfter)
    return try EchoServer(
      try TLSServerContext(
        certificateChain: try authority.issue(profile, for: key).pem, privateKey: key.pem, applicationProtocols: []),
      pace: pace)
  }

  private func open(_ port: Int, _ files: TLSClientFiles?) async throws -> StreamSocket {
    try await StreamSocket.open(to: "127.0.0.1", port: port, tls: files, within: .patience)
  }

  /// Sends bytes as the socket takes them, and waits until all of them have come back.
  private func echo(_ bytes: [UInt8], over socket: StreamSocket) async throws -> (bytes: [UInt8], end: StreamError?) {
    var sent = 0
    var received: [UInt8] = []
    let done = Mailbox<StreamError?>(of: "echoes")
    func send() {
      while sent < bytes.count {
        let count = bytes[sent...].withUnsafeBytes { socket.send($0) }
        guard count > 0 else { return }
        sent += count
      }
    }
    socket.start(
      onReceive: {
        received += $0
        if received.count >= bytes.count { done.put(nil) }
      }, onRoom: send, onEnd: { done.put($0) })
    send()
    let end = try await done.wait(for: 1)[0]
    return (received, end)
  }

  private static let large = (0..<(6 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }

  @Test(arguments: [false, true])
  func `bytes come back in order, also more than the system's buffers take`(isEncrypted: Bool) async throws {
    let server = isEncrypted ? try server() : try EchoServer()
    let socket = try await open(server.port, isEncrypted ? files : nil)
    let result = try await echo(Self.large, over: socket)
    #expect(result.bytes == Self.large)
    socket.close()
    server.close()
  }

  @Test func `records of TLS may come byte by byte`() async throws {
    let server = try server(pace: 1)
    let socket = try await open(server.port, files)
    let text = Array("one record, in pieces".utf8)
    #expect(try await echo(text, over: socket).bytes == text)
    socket.close()
    server.close()
  }

  @Test func `the certificate must be of a trusted authority, of this name and of this time`() async throws {
    func cause(_ server: EchoServer, _ files: TLSClientFiles) async throws -> String {
      let error = await #expect(throws: StreamError.self) { try await open(server.port, files) }
      server.close()
      #expect(error?.operation == "shake hands over TLS" && error?.target == "127.0.0.1:\(server.port)")
      return error?.cause ?? ""
    }
    let stranger = try CertificateAuthority.root(commonName: "Another authority", curve: .p256)
    let other = folder.appending(path: "other.pem")
    try Data(stranger.certificate.pem.utf8).write(to: other)
    let unknown = try await cause(try server(), TLSClientFiles(caFile: other.path))
    #expect(unknown.contains("unable to get local issuer certificate"))
    #expect(try await cause(try server(names: ["localhost"]), files).contains("IP address mismatch"))
    #expect(try await cause(try server(notAfter: .seconds(-60)), files).contains("certificate has expired"))
    // The authorities of the system do not know the tests' authority.
    #expect(try await cause(try server(), TLSClientFiles()).contains("unable to get local issuer certificate"))
  }

  @Test func `the certificate must carry the name of the host`() async throws {
    let server = try server(names: ["broker.test"])
    let socket = try await StreamSocket.open(
      to: "broker.test", at: ["127.0.0.1"], port: server.port, tls: files, within: .patience)
    socket.close()
    let error = await #expect(throws: StreamError.self) {
      try await StreamSocket.open(
        to: "redis.test", at: ["127.0.0.1"], port: server.port, tls: files, within: .patience)
    }
    #expect(error?.cause.contains("hostname mismatch") == true)
    #expect(error?.target == "redis.test:\(server.port)")
    server.close()
  }

  @Test func `a handshake that stops ends at the deadline`() async throws {
    let silent = try FaultProxy(to: 1)
    silent.ignoresNew = true
    let descriptor = try await EventLoop.connect(
      to: "127.0.0.1", at: ["127.0.0.1"], port: silent.port, within: .patience)
    let socket = try StreamSocket(
      takingOwnershipOf: descriptor, target: "silent", try TLSSession(connecting: try files.context(), to: "127.0.0.1"))
    let error = await #expect(throws: StreamError.self) { try await socket.shakeHands(within: .milliseconds(200)) }
    #expect(error?.operation == "shake hands over TLS" && error?.cause == "no answer in time")
    silent.close()
  }

  @Test func `a server without TLS is an error`() async throws {
    let server = try EchoServer()
    let error = await #expect(throws: StreamError.self) { try await open(server.port, files) }
    #expect(error?.operation == "shake hands over TLS")
    server.close()
  }

  @Test func `files that cannot be read are named`() async throws {
    let missing = folder.path + "/none.pem"
    let error = await #expect(throws: StreamError.self) { try await open(1, TLSClientFiles(caFile: missing)) }
    #expect(error?.operation == "prepare TLS" && error?.cause.contains(missing) == true)
  }

  @Test(arguments: [false, true])
  func `the end is told once, with its reason`(isEncrypted: Bool) async throws {
    let server = isEncrypted ? try server() : try EchoServer()
    let socket = try await open(server.port, isEncrypted ? files : nil)
    try await eventually("the server has it") { server.links.first?.isEstablished == true }
    let ends = Mailbox<StreamError>(of: "ends of the connection")
    socket.start(onReceive: { _ in }, onRoom: {}, onEnd: { ends.put($0) })
    server.links[0].sayGoodbye()
    let end = try await ends.wait(for: 1)[0]
    #expect(end.operation == "receive" && end.cause == "the server closed the connection")
    #expect([1].withUnsafeBytes { socket.send($0) } == 0)
    #expect(!socket.hasInput)
    socket.close()
    #expect(ends.all.count == 1)
    server.close()
  }

  /// An end between the handshake and the start is not lost.
  @Test func `a connection that ends before its owner reads ends when the owner begins`() async throws {
    let server = try server()
    let socket = try await open(server.port, files)
    try await eventually("the server has it") { server.links.first?.isEstablished == true }
    server.links[0].sayGoodbye()
    let ends = Mailbox<StreamError>(of: "ends of the connection")
    socket.start(onReceive: { _ in }, onRoom: {}, onEnd: { ends.put($0) })
    #expect(try await ends.wait(for: 1)[0].cause == "the server closed the connection")
    server.close()
  }

  @Test func `the last words of a server are read though sending fails`() async throws {
    let server = try EchoServer()
    let socket = try await open(server.port, nil)
    try await eventually("the server has it") { !server.links.isEmpty }
    let link = server.links[0]
    link.rest()
    let told = Mailbox<String>(of: "last words")
    socket.start(
      onReceive: { told.put(String(decoding: $0, as: UTF8.self)) }, onRoom: {},
      onEnd: { told.put("end: \($0.operation)") })
    func send() -> Int { Array("x".utf8).withUnsafeBytes { socket.send($0) } }
    #expect(send() == 1)
    // The unread byte makes the system reset the connection at the close, if it has come by then.
    var arrived = pollfd(fd: link.descriptor, events: Int16(POLLIN), revents: 0)
    #expect(poll(&arrived, 1, 60_000) == 1)
    #expect(Glibc.send(link.descriptor, "why", 3, 0) == 3)
    link.close()
    // The loop stands still meanwhile: the socket must find out by sending. A busy system takes the reset in late.
    var sent = send()
    for _ in 0..<10_000 where sent == 1 {
      sched_yield()
      sent = send()
    }
    #expect(sent == 0)
    #expect(try await told.wait(for: 2)[0] == "why")
    #expect(told.all.last?.hasPrefix("end: ") == true)
    server.close()
  }
}
