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

  init(port: Int) throws {
    descriptor = try beginConnection(host: "127.0.0.1", port: port)
    watcher = try DescriptorWatcher(descriptor: descriptor) { [weak self] _ in self?.moveBytes() }
    watcher?.watch(.readable)
  }

  func close() {
    guard watcher != nil else { return }
    watcher?.close()
    watcher = nil
    Glibc.close(descriptor)
  }

  /// Sends a request and waits for its answer.
  ///
  /// - Returns: the status; `nil` when the server closed the connection without an answer.
  func status(of request: String) async -> Int? {
    outgoing += Array(request.utf8)
    watcher?.watch([.readable, .writable])
    while true {
      if let status = takeAnswer() { return status }
      if isClosed { return nil }
      await changed.wait(atMost: .seconds(120))
    }
  }

  /// Removes an answer with a `Content-Length` from the received bytes, if it is complete.
  private func takeAnswer() -> Int? {
    let text = rest
    guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
    let lines = text[..<end.lowerBound].split(separator: "\r\n")
    let length = lines.first { $0.lowercased().hasPrefix("content-length:") }
    let size = length.flatMap { Int($0.drop { $0 != ":" }.dropFirst(2)) } ?? 0
    let whole = text[..<end.upperBound].utf8.count + size
    guard incoming.count >= whole, let status = lines.first?.split(separator: " ").dropFirst().first else { return nil }
    incoming.removeFirst(whole)
    return Int(status)
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
