import Glibc
import Testing

/// A client that sends a request and never reads the answer.
///
/// The system buffers a few MiB of an answer all the same: 4 MiB at the server's end (`tcp_wmem`), and little at this
/// one, where it only opens the window for a program that reads.
struct DeafClient {
  private let descriptor: Int32

  /// - Parameter source: the address of the loopback network from which it comes.
  init(asking request: String, port: Int, from source: String) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    // The system accepts and buffers: nothing here waits for the loop, on which the server runs too.
    #expect(Self.call(bind, descriptor, source, 0) == 0 && Self.call(connect, descriptor, "127.0.0.1", port) == 0)
    let bytes = Array(request.utf8)
    #expect(send(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)) == bytes.count)
  }

  func close() { Glibc.close(descriptor) }

  private static func call(
    _ function: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32, _ descriptor: Int32, _ host: String, _ port: Int
  ) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    inet_pton(AF_INET, host, &address.sin_addr)
    return withUnsafeBytes(of: &address) {
      function(descriptor, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t($0.count))
    }
  }
}
