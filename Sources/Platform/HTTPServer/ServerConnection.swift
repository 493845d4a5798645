import CMicroHTTPD
import EventLoop
import Glibc

/// What the server knows of one connection of libmicrohttpd, which keeps it as the connection's context.
@LoopActor
final class ServerConnection {
  let id: Int
  let connection: OpaquePointer
  /// The numeric address of the peer; `nil` if it is not known.
  let peer: String?
  /// How often libmicrohttpd has called the server for this connection.
  var calls = 0
  /// Whether the last request runs or its answer is on its way.
  private(set) var isAnswering = false
  /// The request that libmicrohttpd has, from its first line to its end.
  var held: Exchange?
  /// The same, once its head has arrived.
  var exchange: Exchange? { held?.isBegun == true ? held : nil }
  /// Whether the server has cut the connection. libmicrohttpd only has to notice it.
  private(set) var isCut = false

  /// Watches the socket while libmicrohttpd does not.
  private var watcher: DescriptorWatcher?
  /// Whether libmicrohttpd leaves the connection alone until bytes come.
  var isParked: Bool { watcher != nil }

  init(id: Int, connection: OpaquePointer, peer: String?) {
    (self.id, self.connection, self.peer) = (id, connection, peer)
  }

  /// Notes what the connection does from now on.
  func enter(_ phase: ConnectionPlaces.Phase) {
    calls &+= 1
    switch phase {
    case .running, .answering: isAnswering = true
    case .head, .idle, .body: isAnswering = false
    }
  }

  private var descriptor: Int32 { countersign_mhd_socket(connection) }

  /// The bytes that have arrived at the socket and that nobody has taken.
  var waiting: Int { Int(countersign_waiting(descriptor)) }

  /// How many calls there had been when the server last looked whether the client is gone.
  private var callsSeen = -1

  /// Whether the client has closed a connection on which nothing has moved since the last look.
  ///
  /// libmicrohttpd (0.9.75) does not see an end that arrives together with bytes: it is told of both once, reads the
  /// bytes, takes the socket for empty, and waits for more until a deadline.
  func isAbandoned() -> Bool {
    defer { callsSeen = calls }
    guard callsSeen == calls, !isAnswering, !isCut, !isParked else { return false }
    var next: UInt8 = 0
    let count = recv(descriptor, &next, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
    let code = errno
    return count == 0 || count < 0 && code == ECONNRESET
  }

  /// Takes the connection out of libmicrohttpd's way until bytes come or the client closes.
  func park(_ onReadable: @escaping @LoopActor () -> Void) {
    guard !isParked, !isCut, let made = try? DescriptorWatcher(descriptor: descriptor, { _ in onReadable() }) else {
      return
    }
    watcher = made
    MHD_suspend_connection(connection)
    made.watch(.readable)
  }

  /// Gives the connection back to libmicrohttpd.
  func unpark() {
    guard let watcher else { return }
    self.watcher = nil
    watcher.close()
    MHD_resume_connection(connection)
  }

  /// Writes the last answer of the connection straight to its socket, which has all earlier answers already.
  ///
  /// - Parameter method: of the request. The answer to HEAD has no body.
  func write(_ answer: HTTPServerResponse, to method: String) {
    let bytes = answer.closing(method)
    // If a client has not read its earlier answers, these bytes may find no room. Then it does not get this one either.
    _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
  }

  /// Writes the last answer, and says that nothing comes behind it.
  func finish(_ answer: HTTPServerResponse, to method: String) {
    write(answer, to: method)
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Ends the connection: libmicrohttpd sees the end of its socket at the next run, whatever it waits for.
  ///
  /// - Parameter answer: goes out first. Only for a connection that is answering nothing.
  func cut(_ answer: HTTPServerResponse?) {
    guard !isCut else { return }
    isCut = true
    unpark()
    let descriptor = descriptor
    if let answer {
      write(answer, to: exchange?.method ?? "")
      // If bytes stay unread, the system resets the connection, and the client may lose the answer.
      withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 1) { rest in
        for _ in 0..<Self.drains {
          if recv(descriptor, rest.baseAddress, rest.count, Int32(MSG_DONTWAIT)) <= 0 { break }
        }
      }
    }
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  /// How many pieces of 16 KiB a cut connection may leave unread.
  private static let drains = 16
}
