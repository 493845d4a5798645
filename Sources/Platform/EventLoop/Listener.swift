// CUV also declares the socket constants. Glibc's own module shows them only by accident.
import CUV
import Formats
import Glibc

/// A server socket that could not be opened.
public struct ListenError: Error, Sendable, CustomStringConvertible {
  /// Host and port.
  public let target: String
  /// The system's text.
  public let cause: String

  /// Creates an error.
  public init(target: String, cause: String) {
    self.target = target
    self.cause = cause
  }

  public var description: String { "listen on \(target): \(cause)" }
}

/// A TCP socket that listens, and hands over every connection that it accepts.
///
/// Close it before you release the last reference.
@LoopActor
public final class Listener {
  /// The bound port, even if the system chose it.
  public let port: Int

  private let descriptor: Int32
  private let onConnection: @LoopActor (Int32) throws -> Void
  private var watcher: DescriptorWatcher?
  private var pause: LoopTimer?
  private var isAccepting = false

  /// The most connections of one turn. The next ones wait in the system's backlog for the next turn.
  private static let connectionsPerTurn = 64
  /// The most connections that wait in the system's backlog.
  fileprivate nonisolated static let backlog: Int32 = 1024

  /// Binds a numeric address and accepts from now on. Port 0 takes any free port.
  ///
  /// - Parameter onConnection: takes the ownership of a connected, non-blocking descriptor. If it throws, it must have
  ///   closed the descriptor, and the listener rests for 100 ms.
  /// - Throws: ``ListenError``.
  public init(host: String, port: Int, onConnection: @escaping @LoopActor (Int32) throws -> Void) throws {
    (descriptor, self.port) = try openListener(host: host, port: port)
    self.onConnection = onConnection
    do {
      // The reference is strong: a listener lives until its owner closes it. Otherwise the connections that arrive
      // would wait for ever.
      watcher = try DescriptorWatcher(descriptor: descriptor) { _ in self.accept(atMost: Self.connectionsPerTurn) }
    } catch {
      Glibc.close(descriptor)
      throw ListenError(target: ServerAddress(host: host, port: port).description, cause: "\(error)")
    }
    pause = LoopTimer { [weak self] in self?.rewatch() }
    accepts(true)
  }

  /// Accepts connections, or leaves further ones in the system's backlog.
  public func accepts(_ wanted: Bool) {
    guard wanted != isAccepting else { return }
    isAccepting = wanted
    rewatch()
  }

  /// Stops listening.
  ///
  /// First it accepts the connections in the system's backlog, unless the listener was told not to accept. The system
  /// would reset them, though their requests may be on the way.
  public func close() {
    guard let watcher else { return }
    // From here on no client gets in. The system drops a client's packet, and the client sends it again to a port that
    // is closed, or open anew. Where the system forbids this, it resets a client that comes at this very moment.
    countersign_drop_packets(descriptor)
    // Where the system forbids it, clients come as fast as this accepts them, so here too is an end.
    accept(atMost: 2 * Int(Self.backlog))
    isAccepting = false
    self.watcher = nil
    watcher.close()
    pause?.close()
    pause = nil
    Glibc.close(descriptor)
  }

  private func rewatch() { watcher?.watch(isAccepting ? .readable : []) }

  private func accept(atMost most: Int) {
    var left = most
    while isAccepting, left > 0 {
      left -= 1
      // Swift does not see accept4. This code starts no process, so the gap before FD_CLOEXEC is harmless.
      let accepted = Glibc.accept(descriptor, nil, nil)
      let code = errno
      guard accepted >= 0 else {
        // The peer of a waiting connection may be gone already. That is not a failure of the socket.
        if [EAGAIN, EWOULDBLOCK, EINTR, ECONNABORTED, EPROTO].contains(code) { return }
        return rest()
      }
      _ = fcntl(accepted, F_SETFL, O_NONBLOCK)
      _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
      var enabled: Int32 = 1
      setsockopt(accepted, Int32(IPPROTO_TCP), TCP_NODELAY, &enabled, socklen_t(MemoryLayout<Int32>.size))
      do { try onConnection(accepted) } catch { return rest() }
    }
  }

  /// Pauses when descriptors or memory have run out. The connection stays in the backlog, and the loop must not spin on
  /// it.
  private func rest() {
    watcher?.watch([])
    pause?.start(after: .milliseconds(100))
  }
}

/// Opens a non-blocking listening socket on a numeric address. Port 0 takes any free port.
///
/// - Returns: the descriptor and its port.
/// - Throws: ``ListenError``.
private func openListener(host: String, port: Int) throws(ListenError) -> (descriptor: Int32, port: Int) {
  let target = ServerAddress(host: host, port: port).description
  /// - Parameter code: of `errno`, kept right after the failed call.
  func failure(_ code: Int32) -> ListenError { ListenError(target: target, cause: String(cString: strerror(code))) }

  var hints = addrinfo()
  hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
  hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST
  var found: UnsafeMutablePointer<addrinfo>?
  let status = getaddrinfo(host, String(port), &hints, &found)
  guard status == 0, let address = found else {
    throw ListenError(target: target, cause: String(cString: gai_strerror(status)))
  }
  defer { freeaddrinfo(found) }
  let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
  let descriptor = socket(address.pointee.ai_family, kind, 0)
  guard descriptor >= 0 else { throw failure(errno) }
  var on: Int32 = 1
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
  guard bind(descriptor, address.pointee.ai_addr, address.pointee.ai_addrlen) == 0,
    listen(descriptor, Listener.backlog) == 0
  else {
    let code = errno
    close(descriptor)
    throw failure(code)
  }
  var bound = sockaddr_storage()
  var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
  withUnsafeMutablePointer(to: &bound) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &length) }
  }
  // The port has the same place in the IPv4 and the IPv6 form.
  let bigEndian = withUnsafeBytes(of: &bound) { $0.load(fromByteOffset: 2, as: UInt16.self) }
  return (descriptor, Int(UInt16(bigEndian: bigEndian)))
}
