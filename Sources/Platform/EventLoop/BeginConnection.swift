// CUV also declares the socket constants. Glibc's own module shows them only by accident.
import CUV
import Formats
import Glibc

/// Begins to connect to a numeric address, without waiting.
///
/// The socket is writable when the attempt is over. The attempt has failed if `SO_ERROR` says so.
///
/// - Throws: ``ConnectError`` if the attempt fails at once.
public func beginConnection(host: String, port: Int) throws(ConnectError) -> Int32 {
  let target = ServerAddress(host: host, port: port).description
  var hints = addrinfo()
  hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
  hints.ai_flags = AI_NUMERICHOST
  var found: UnsafeMutablePointer<addrinfo>?
  guard getaddrinfo(host, String(port), &hints, &found) == 0, let address = found else {
    throw ConnectError(target: target, cause: "not a numeric address")
  }
  defer { freeaddrinfo(found) }
  let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
  let descriptor = socket(address.pointee.ai_family, kind, 0)
  let unopened = errno
  guard descriptor >= 0 else { throw ConnectError(target: target, cause: String(cString: strerror(unopened))) }
  let status = connect(descriptor, address.pointee.ai_addr, address.pointee.ai_addrlen)
  let code = errno
  guard status == 0 || code == EINPROGRESS else {
    close(descriptor)
    throw ConnectError(target: target, cause: String(cString: strerror(code)))
  }
  return descriptor
}
