import EventLoop
import Glibc

/// A client's connection on which a test sends any bytes and reads the server's bytes.
@LoopActor
final class RawConnection {
  private let descriptor: Int32
  private var watcher: DescriptorWatcher?
  private var outgoing: [UInt8] = []
  private var incoming: [UInt8] = []
  /// Whether the other side has closed the connection.
  private(set) var isClosed = false
  private let changed = LoopSignal()
  /// The text that has arrived and is not yet part of an answer.
  var rest: String { String(decoding: incoming, as: UTF8.self) }

  /// - Parameter source: the address of the loopback network from which it comes.
  init(port: Int, from source: String? = nil) throws {
    descriptor = try source.map { try begin(from: $0, port: port) } ?? beginConnection(host: "127.0.0.1", port: port)
    watcher = try DescriptorWatcher(descriptor: descriptor) { [weak self] _ in self?.moveBytes() }
    watcher?.watch(.readable)
  }

  func close() {
    guard watcher != nil else { return }
    watcher?.close()
    watcher = nil
    Glibc.close(descriptor)
  }

  /// Sends bytes and waits for nothing.
  func put(_ bytes: [UInt8]) {
    outgoing += bytes
    watcher?.watch([.readable, .writable])
  }

  /// Waits until the server has closed the connection.
  func end() async {
    while !isClosed { await changed.wait(atMost: .seconds(120)) }
  }

  /// Sends a request and waits for its answer.
  ///
  /// - Returns: the status; `nil` when the server closed the connection without an answer.
  func status(of request: String) async -> Int? {
    put(Array(request.utf8))
    return await answer()?.status
  }

  /// Waits for an answer; `nil` when the server closed the connection without one.
  func answer() async -> (status: Int, body: String)? {
    while true {
      if let answer = takeAnswer() { return answer }
      if isClosed { return nil }
      await changed.wait(atMost: .seconds(120))
    }
  }

  /// Removes an answer with a `Content-Length` from the received bytes, if it is complete.
  private func takeAnswer() -> (status: Int, body: String)? {
    let text = rest
    guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
    let lines = text[..<end.lowerBound].split(separator: "\r\n")
    let length = lines.first { $0.lowercased().hasPrefix("content-length:") }
    let size = length.flatMap { Int($0.drop { $0 != ":" }.dropFirst(2)) } ?? 0
    let whole = text[..<end.upperBound].utf8.count + size
    guard incoming.count >= whole, let status = lines.first?.split(separator: " ").dropFirst().first else { return nil }
    let body = String(decoding: incoming[(whole - size)..<whole], as: UTF8.self)
    incoming.removeFirst(whole)
    return Int(status).map { ($0, body) }
  }

  private func moveBytes() {
    while !outgoing.isEmpty {
      let count = send(descriptor, outgoing, outgoing.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      if count > 0 { outgoing.removeFirst(count) }
      if count < 0 { break }
    }
    var bytes = [UInt8](repeating: 0, count: 4096)
    while !isClosed {
      let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
      if count > 0 { incoming += bytes.prefix(count) } else { isClosed = count == 0 || errno != EAGAIN }
      if count <= 0 { break }
    }
    watcher?.watch(isClosed ? [] : outgoing.isEmpty ? .readable : [.readable, .writable])
    changed.notify()
  }
}

/// A connection that could not begin.
private struct BeginError: Error {
  let source: String
  let cause: String
}

/// Begins to connect to 127.0.0.1 from an address of the loopback network.
private func begin(from source: String, port: Int) throws -> Int32 {
  func with(_ host: String, _ port: Int, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    inet_pton(AF_INET, host, &address.sin_addr)
    return withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }
  let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
  let descriptor = socket(AF_INET, kind, 0)
  guard descriptor >= 0, with(source, 0, { bind(descriptor, $0, $1) }) == 0,
    with("127.0.0.1", port, { connect(descriptor, $0, $1) }) == 0 || errno == EINPROGRESS
  else { throw BeginError(source: source, cause: String(cString: strerror(errno))) }
  return descriptor
}
