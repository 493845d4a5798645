import EventLoop
import Glibc

/// One kept-alive HTTP/1.1 connection on loopback: one request at a time, and of its answer the status.
///
/// Bare sockets, so that on a machine which client and server share, the client takes as little of it as it can.
@LoopActor
final class LoadConnection {
  private let descriptor: Int32
  private var watcher: DescriptorWatcher?
  private var received: [UInt8] = []
  private var waiter: CheckedContinuation<Int, any Error>?
  /// What is being read; kept for its memory.
  private static var buffer = [UInt8](repeating: 0, count: bufferBytes)
  private static let bufferBytes = 4096

  init(port: Int) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(port).bigEndian)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else {
      Glibc.close(descriptor)
      throw Unexpected(description: "connect to 127.0.0.1:\(port): \(String(cString: strerror(errno)))")
    }
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    var yes: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    watcher = try DescriptorWatcher(descriptor: descriptor) { [unowned self] _ in receive() }
    watcher?.watch(.readable)
  }

  /// Sends a request and returns the status of its answer.
  func send(_ request: [UInt8]) async throws -> Int {
    // A request of a few hundred bytes always fits into an empty socket.
    guard write(descriptor, request, request.count) == request.count else {
      throw Unexpected(description: "a request could not be sent: \(String(cString: strerror(errno)))")
    }
    return try await withCheckedThrowingContinuation { waiter = $0 }
  }

  func close() {
    watcher?.close()
    Glibc.close(descriptor)
  }

  private func receive() {
    let count = read(descriptor, &Self.buffer, Self.bufferBytes)
    if count < 0, errno == EAGAIN { return }
    guard count > 0 else {
      watcher?.watch([])
      waiter?.resume(throwing: Unexpected(description: "the gateway has closed a connection"))
      waiter = nil
      return
    }
    received.append(contentsOf: Self.buffer[..<count])
    guard let status = completeStatus(), let waiter else { return }
    received.removeAll(keepingCapacity: true)
    self.waiter = nil
    waiter.resume(returning: status)
  }

  /// The status, once head and body are complete: `HTTP/1.1 202 …`, `Content-Length` and so many bytes after the empty line.
  private func completeStatus() -> Int? {
    guard let end = place(after: Self.emptyLine, in: received[...]) else { return nil }
    guard let length = place(after: Self.contentLength, in: received[..<end]) else { return nil }
    return received.count >= end + number(at: length) ? number(at: 9) : nil
  }

  private static let emptyLine = Array("\r\n\r\n".utf8)
  private static let contentLength = Array("Content-Length: ".utf8)

  private func place(after text: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
    bytes.withUnsafeBufferPointer { bytes in
      guard bytes.count >= text.count else { return nil }
      for start in 0...bytes.count - text.count where bytes[start] == text[0] {
        var length = 1
        while length < text.count, bytes[start + length] == text[length] { length += 1 }
        if length == text.count { return start + length }
      }
      return nil
    }
  }

  private func number(at start: Int) -> Int {
    var (value, next) = (0, start)
    while (48...57).contains(received[next]) { (value, next) = (value * 10 + Int(received[next] - 48), next + 1) }
    return value
  }
}
