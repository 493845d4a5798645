public import EventLoop
import Glibc
import TestSupport

/// A caller that writes raw bytes to a server on 127.0.0.1, from an address of its own, and sees what comes back.
///
/// It needs no HTTP client, because none would send what it sends.
@LoopActor
public final class Stranger {
  /// What the server has sent so far.
  public private(set) var received: [UInt8] = []
  /// Whether the connection has ended, from either side.
  public private(set) var hasEnded = false
  /// Tells that bytes have come, or that the connection has ended.
  public let changed = LoopSignal()

  private var descriptor: Int32
  private var watcher: DescriptorWatcher?
  private var unsent: ArraySlice<UInt8> = []

  /// Begins to connect.
  ///
  /// - Parameter source: the address that the server sees, in 127.0.0.0/8.
  /// - Throws: ``NeverHappened`` when the system gives no socket, or when the address is not this machine's.
  public init(from source: String = "127.0.0.1", to port: Int) throws {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    descriptor = socket(AF_INET, kind, 0)
    let (own, peer) = (Self.address(source, 0), Self.address("127.0.0.1", port))
    guard descriptor >= 0, Self.call(bind, descriptor, own) == 0,
      Self.call(connect, descriptor, peer) == 0 || errno == EINPROGRESS
    else {
      let cause = String(cString: strerror(errno))
      if descriptor >= 0 { Glibc.close(descriptor) }
      throw NeverHappened(description: "no connection from \(source) to port \(port): \(cause)")
    }
    watcher = try DescriptorWatcher(descriptor: descriptor) { [weak self] in self?.ready($0) }
    watcher?.watch([.readable, .writable])
  }

  /// Sends bytes as soon as the socket takes them.
  public func send(_ bytes: some Sequence<UInt8>) {
    guard !hasEnded else { return }
    unsent += bytes
    watcher?.watch([.readable, .writable])
  }

  /// Sends a text.
  public func send(_ text: String) { send(text.utf8) }

  /// Takes the first bytes that the server has sent.
  public func take(_ count: Int) -> [UInt8] {
    defer { received.removeFirst(min(count, received.count)) }
    return Array(received.prefix(count))
  }

  /// Ends the connection. Every stranger must be closed.
  public func close() {
    hasEnded = true
    guard let watcher else { return }
    self.watcher = nil
    watcher.close()
    Glibc.close(descriptor)
    changed.notify()
  }

  private func ready(_ readiness: Readiness) {
    if readiness.contains(.readable) { read() }
    guard !hasEnded, readiness.contains(.writable) else { return }
    while !unsent.isEmpty {
      let count = unsent.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else {
        guard errno != EAGAIN, errno != ENOTCONN else { return }
        // The server may have said why before it closed.
        read()
        return close()
      }
      unsent = unsent.dropFirst(count)
    }
    watcher?.watch(.readable)
  }

  /// What one call reads. All strangers share it: a debug build takes long to make one.
  private static var piece = [UInt8](repeating: 0, count: pieceSize)
  private static let pieceSize = 1 << 16

  private func read() {
    while !hasEnded {
      let count = recv(descriptor, &Self.piece, Self.pieceSize, 0)
      if count > 0 {
        received += Self.piece.prefix(count)
        changed.notify()
      } else if count == 0 || errno != EAGAIN {
        return close()
      } else {
        return
      }
    }
  }

  private static func address(_ host: String, _ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    inet_pton(AF_INET, host, &address.sin_addr)
    return address
  }

  private static func call(
    _ function: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32, _ descriptor: Int32, _ address: sockaddr_in
  ) -> Int32 {
    withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        function(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}
