import EventLoop
import Formats
import Glibc

/// One kept-alive HTTP/1.1 connection on loopback: one request at a time. It reads only the status of each answer.
///
/// It uses bare sockets and a callback for each answer. The client shares the machine with the server, so it must use
/// as little of it as possible.
@LoopActor
final class LoadConnection {
  /// When the present request was due; only the owner of the connection uses it.
  var due = ContinuousClock.now
  private let descriptor: Int32
  private let onAnswer: @LoopActor (LoadConnection, Result<Int, any Error>) -> Void
  private var watcher: DescriptorWatcher?
  /// The beginning of an answer that has not arrived completely.
  private var partial: [UInt8] = []
  /// The buffer for reading; the connection keeps it to reuse its memory.
  private static let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)

  /// - Parameter onAnswer: receives each answer's status, or once the failure.
  init(port: Int, _ onAnswer: @escaping @LoopActor (LoadConnection, Result<Int, any Error>) -> Void) throws {
    self.onAnswer = onAnswer
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var space: Int32 = 1 << 18
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &space, socklen_t(MemoryLayout<Int32>.size))
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

  /// Sends a request.
  func send(_ request: [UInt8]) {
    // A request always fits into an empty socket: a notification has some 20 KB.
    guard write(descriptor, request, request.count) == request.count else {
      return fail("a request could not be sent: \(String(cString: strerror(errno)))")
    }
  }

  func close() {
    watcher?.close()
    watcher = nil
    Glibc.close(descriptor)
  }

  private func fail(_ cause: String) {
    watcher?.watch([])
    onAnswer(self, .failure(Unexpected(description: cause)))
  }

  private func receive() {
    let count = read(descriptor, Self.buffer.baseAddress, Self.buffer.count)
    if count < 0, errno == EAGAIN { return }
    guard count > 0 else { return fail("the gateway has closed a connection") }
    let piece = UnsafeRawBufferPointer(rebasing: Self.buffer[..<count])
    // Nearly every answer comes in one piece.
    if partial.isEmpty, let status = completeStatus(piece) { return onAnswer(self, .success(status)) }
    partial.append(contentsOf: piece)
    guard let status = partial.withUnsafeBytes(completeStatus) else { return }
    partial.removeAll(keepingCapacity: true)
    onAnswer(self, .success(status))
  }
}

/// The status, once head and body are complete: `HTTP/1.1 202 …`, `Content-Length` and that many bytes after the empty
/// line.
private func completeStatus(_ answer: UnsafeRawBufferPointer) -> Int? {
  guard let end = place(after: "\r\n\r\n", in: answer),
    let length = place(after: "Content-Length: ", in: UnsafeRawBufferPointer(rebasing: answer[..<end]))
  else { return nil }
  return answer.count >= end + number(at: length, in: answer) ? number(at: 9, in: answer) : nil
}

private func place(after text: StaticString, in bytes: UnsafeRawBufferPointer) -> Int? {
  let (first, length, end) = (Int32(text.utf8Start.pointee), text.utf8CodeUnitCount, bytes.baseAddress! + bytes.count)
  var start = bytes.baseAddress!
  while end - start >= length, let found = memchr(start, first, end - start).map({ UnsafeRawPointer($0) }) {
    if end - found >= length, memcmp(found, text.utf8Start, length) == 0 { return found - bytes.baseAddress! + length }
    start = found + 1
  }
  return nil
}

private func number(at start: Int, in bytes: UnsafeRawBufferPointer) -> Int {
  var (value, next) = (0, start)
  while bytes[next].isASCIIDigit { (value, next) = (value * 10 + Int(bytes[next] - 48), next + 1) }
  return value
}
