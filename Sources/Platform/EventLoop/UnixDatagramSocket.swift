// CUV also declares the socket constants. Glibc's own module shows them only by accident.
import CUV
import Glibc

/// A socket that sends datagrams to one path of this machine, and does not wait.
@LoopActor
public final class UnixDatagramSocket {
  /// The most bytes of a path: a `sockaddr_un` has room for a zero behind them.
  public nonisolated static let mostBytesOfPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  private let descriptor: Int32
  private var address = sockaddr_un()
  private let length: socklen_t

  /// Opens a socket.
  ///
  /// - Parameter path: the bytes of the path. A zero in front of them names the abstract namespace (unix(7)).
  /// - Returns: `nil` if the path is too long, or the system has no descriptor.
  public init?(to path: [UInt8]) {
    guard path.count <= Self.mostBytesOfPath else { return nil }
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
    // A path has a zero behind it. A name in the abstract namespace ends where the address does.
    let zero = path.first == 0 ? 0 : 1
    length = socklen_t((MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2) + path.count + zero)
    let kind = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    descriptor = socket(AF_UNIX, kind, 0)
    guard descriptor >= 0 else { return nil }
  }

  /// Sends a datagram. It is lost if the peer is away or its buffer is full.
  public func send(_ bytes: [UInt8]) {
    _ = withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, length)
      }
    }
  }

  /// Closes the descriptor.
  public func close() { Glibc.close(descriptor) }
}
