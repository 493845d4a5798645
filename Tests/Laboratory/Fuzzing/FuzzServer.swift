import Configuration
import Doors
import EventLoop
import Glibc
import HTTPServer
import Synchronization

@testable import Gateway

/// A running HTTP server with the gateway's limits and readers, in this process.
///
/// It gets each input as raw bytes on a connection of its own. While that connection is open, another client must get
/// an answer after each piece.
final class FuzzServer: Sendable {
  static let shared = FuzzServer()

  private let port: UInt16
  /// Only a server that stands still needs so long.
  private static let patience = 10
  @LoopActor private static var server: HTTPServer?

  private init() {
    let opened = Mutex<UInt16>(0)
    Task { @LoopActor in
      do {
        let server = try HTTPServer(Self.configuration) { FuzzReaders.answer($0) }
        Self.server = server
        opened.withLock { $0 = UInt16(server.port) }
      } catch {
        fatalError("no server: \(error)")
      }
    }
    while opened.withLock({ $0 }) == 0 { usleep(1000) }
    port = opened.withLock { $0 }
  }

  @LoopActor private static var configuration: HTTPServer.Configuration {
    var configuration = ConfigurationLoader.defaults(DoorRegistry.all).gateway.serverConfiguration(
      FuzzReaders.routes,
      asking: GatewaySettings.HeadQuestions(
        authenticator: { FuzzReaders.authenticator }, refusalOfNotification: { _ in nil }, onRefusedHead: { _ in },
        onRefused: { _, _ in }))
    configuration.port = 0
    return configuration
  }

  /// Sends an input. Its first byte says in how many pieces.
  func run(_ input: [UInt8]) {
    guard let first = input.first else { return }
    let connection = connect()
    defer { close(connection) }
    var rest = input.dropFirst()
    let pieces = 1 + Int(first) % 4
    for number in 1...pieces {
      let piece = number == pieces ? rest : rest.prefix(input.count / pieces)
      rest = rest.dropFirst(piece.count)
      // The server may have hung up, or read no more.
      _ = piece.withUnsafeBytes {
        Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      }
      expectAnswer(beside: number, of: pieces)
    }
    // The loop may have taken the other client first. Now it has read all pieces, and must still turn.
    expectAnswer(beside: pieces, of: pieces)
  }

  private func expectAnswer(beside piece: Int, of pieces: Int) {
    let connection = connect()
    defer { close(connection) }
    let request = Array("GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8)
    guard Glibc.send(connection, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
      fatalError("the server hung up on another client: \(String(cString: strerror(errno)))")
    }
    var answer = [UInt8](repeating: 0, count: 1024)
    let count = recv(connection, &answer, answer.count, 0)
    guard answer.prefix(max(0, count)).starts(with: "HTTP/1.1 200".utf8) else {
      fatalError("beside piece \(piece) of \(pieces), another client got no answer in \(Self.patience) s")
    }
  }

  private func connect() -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var limit = timeval(tv_sec: Self.patience, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    // Without this, a minute's connections would use up the ports.
    var lingering = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &lingering, socklen_t(MemoryLayout<linger>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { fatalError("the server takes no connection: \(String(cString: strerror(errno)))") }
    return descriptor
  }
}
