// Also for the socket constants, which Glibc's own module shows only by accident.
import CUV
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

/// Opens a non-blocking listening socket on a numeric address; port 0 takes any free port.
///
/// - Returns: the descriptor and the port it is bound to.
/// - Throws: ``ListenError``.
public func openListener(host: String, port: Int) throws(ListenError) -> (descriptor: Int32, port: Int) {
  let target = "\(host):\(port)"
  func failure() -> ListenError { ListenError(target: target, cause: String(cString: strerror(errno))) }

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
  guard descriptor >= 0 else { throw failure() }
  var on: Int32 = 1
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
  guard bind(descriptor, address.pointee.ai_addr, address.pointee.ai_addrlen) == 0, listen(descriptor, 1024) == 0 else {
    let error = failure()
    close(descriptor)
    throw error
  }
  var bound = sockaddr_storage()
  var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
  withUnsafeMutablePointer(to: &bound) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &length) }
  }
  // The port stands at the same place in the IPv4 and the IPv6 form.
  let bigEndian = withUnsafeBytes(of: &bound) { $0.load(fromByteOffset: 2, as: UInt16.self) }
  return (descriptor, Int(UInt16(bigEndian: bigEndian)))
}
