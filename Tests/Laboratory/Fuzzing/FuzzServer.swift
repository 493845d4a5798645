import Configuration
import Crypto
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
    // OpenSSL frees what it has at the end of the process, too. What was registered last runs first.
    _ = SHA256.hash([])
    atexit { FuzzServer.end() }
  }

  /// Closes the server at the end of the process, before the sanitizer looks for leaks: a request in flight would look
  /// like one, and one that stays behind is one.
  private static func end() {
    let isClosed = Mutex(false)
    Task { @LoopActor in
      await server?.close(grace: .zero)
      server = nil
      isClosed.withLock { $0 = true }
    }
    while !isClosed.withLock({ $0 }) { usleep(1000) }
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
      // The server may have hung up, or stopped reading.
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
    let sent = uninterrupted { Glibc.send(connection, request, request.count, Int32(MSG_NOSIGNAL)) }
    guard sent == request.count else {
      fatalError("the server hung up on another client: \(String(cString: strerror(errno)))")
    }
    var answer = [UInt8](repeating: 0, count: 1024)
    let count = uninterrupted { recv(connection, &answer, answer.count, 0) }
    let came = answer.prefix(max(0, count))
    guard came.starts(with: "HTTP/1.1 200".utf8) else {
      let text = "\(count) bytes: \(String(decoding: came, as: UTF8.self))"
      let what = count < 0 ? String(cString: strerror(errno)) : text
      fatalError("beside piece \(piece) of \(pieces), another client got, within \(Self.patience) s, \(what)")
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
    guard status == 0 || errno == EINTR && isConnected(descriptor) else {
      fatalError("the server takes no connection: \(String(cString: strerror(errno)))")
    }
    return descriptor
  }

  /// Whether a connection comes about whose call was interrupted: the system goes on with it.
  private func isConnected(_ descriptor: Int32) -> Bool {
    var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return uninterrupted { Int(poll(&wanted, 1, Int32(Self.patience) * 1000)) } == 1
      && Int32(wanted.revents) & (POLLERR | POLLHUP) == 0
  }

  /// Calls the system again while a signal interrupts it: libFuzzer's clock is a signal, and a call on a socket with a
  /// time limit does not go on by itself.
  private func uninterrupted(_ call: () -> Int) -> Int {
    while true {
      let result = call()
      guard result < 0, errno == EINTR else { return result }
    }
  }
}
