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
    var hints = addrinfo()
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    let failure = getaddrinfo(address, String(port), &hints, &found)
    guard failure == 0, let found else {
      throw HTTP2ServerError(operation: "listen on \(address):\(port)", cause: String(cString: gai_strerror(failure)))
    }
    defer { freeaddrinfo(found) }

    descriptor = socket(found.pointee.ai_family, found.pointee.ai_socktype | socketFlags, 0)
    guard descriptor >= 0 else { throw HTTP2ServerError.system("create a socket") }
    do {
      var enabled: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &enabled, socklen_t(MemoryLayout<Int32>.size))
      guard bind(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0, listen(descriptor, 1024) == 0 else {
        throw HTTP2ServerError.system("listen on \(address):\(port)")
      }
      self.port = try Self.boundPort(of: descriptor)
    } catch {
      Glibc.close(descriptor)
      throw error
    }
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

  private static func boundPort(of descriptor: Int32) throws -> Int {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return try withUnsafeMutableBytes(of: &storage) { bytes in
      let address = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
      guard getsockname(descriptor, address, &length) == 0 else {
        throw HTTP2ServerError.system("read the bound port")
      }
      // The port stands at the same place in sockaddr_in and sockaddr_in6, in network order.
      return Int(bytes[2]) << 8 | Int(bytes[3])
    }
  }
}

private let socketFlags = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
