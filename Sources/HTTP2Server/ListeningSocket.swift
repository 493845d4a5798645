import EventLoop
import Glibc

/// A TCP socket that accepts connections, all of them non-blocking.
@LoopActor
final class ListeningSocket {
  let descriptor: Int32
  /// The port that was bound, also when the system chose it.
  let port: Int

  /// Binds a numeric address.
  init(address: String, port: Int) throws {
    (descriptor, self.port) = try openListener(host: address, port: port)
  }

  /// Returns the next connection, or `nil` when none waits.
  func accept() throws -> Int32? {
    // accept4 is not visible to Swift. No process is started from here, so the gap before FD_CLOEXEC is harmless.
    let accepted = Glibc.accept(descriptor, nil, nil)
    guard accepted < 0 else {
      _ = fcntl(accepted, F_SETFL, O_NONBLOCK)
      _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
      var enabled: Int32 = 1
      setsockopt(accepted, Int32(IPPROTO_TCP), TCP_NODELAY, &enabled, socklen_t(MemoryLayout<Int32>.size))
      return accepted
    }
    switch errno {
    // The peer of the connection that waited may be gone already: that is no failure of the socket.
    case EAGAIN, EWOULDBLOCK, EINTR, ECONNABORTED, EPROTO: return nil
    default: throw HTTP2ServerError.system("accept a connection")
    }
  }

  func close() {
    Glibc.close(descriptor)
  }
}
