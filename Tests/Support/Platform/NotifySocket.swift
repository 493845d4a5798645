public import EventLoop
import Glibc

/// The socket on which systemd hears of its services: a test plays systemd.
@LoopActor
public final class NotifySocket {
  /// The path, as `NOTIFY_SOCKET` has it.
  public nonisolated let path: String
  /// The messages so far, in order.
  public private(set) var messages: [String] = []
  private let descriptor: Int32

  /// Binds a socket in a folder.
  ///
  /// - Throws: `NeverHappened` if the system refuses it.
  public init(in folder: String) throws {
    path = folder + "/notify"
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
      throw NeverHappened(description: "\(path) is short enough for a socket")
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
    }
    guard status == 0 else { throw NeverHappened(description: "bind \(path): \(String(cString: strerror(errno)))") }
  }

  /// Reads what has come.
  public func read() {
    var buffer = [UInt8](repeating: 0, count: 4096)
    while case let count = recv(descriptor, &buffer, buffer.count, 0), count >= 0 {
      messages.append(String(decoding: buffer[..<count], as: UTF8.self))
    }
  }

  /// Holds up the loop until a message comes, or for as long.
  ///
  /// - Returns: whether one has come.
  public func holdUpLoop(milliseconds: Int32) -> Bool {
    var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&wanted, 1, milliseconds) > 0
  }

  /// Closes the socket, and removes its file.
  public func close() {
    Glibc.close(descriptor)
    unlink(path)
  }
}
