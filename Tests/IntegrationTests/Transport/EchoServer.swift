import Crypto
import EventLoop
import Glibc

/// A server that sends back what it gets, with or without TLS.
@LoopActor
final class EchoServer {
  /// The port to connect to.
  var port: Int { listener.port }
  /// The connections, the oldest first.
  private(set) var links: [EchoLink] = []
  private var listener: Listener!

  /// - Parameters:
  ///   - tls: `nil` means no TLS.
  ///   - pace: how many bytes the server sends in one turn of the loop.
  init(_ tls: TLSServerContext? = nil, pace: Int = .max) throws {
    listener = try Listener(host: "127.0.0.1", port: 0) { [unowned self] descriptor in
      links.append(try EchoLink(descriptor, try tls.map { try TLSSession(accepting: $0) }, pace))
    }
  }

  func close() {
    listener.close()
    for link in links { link.close() }
  }
}

/// One connection of an ``EchoServer``.
@LoopActor
final class EchoLink {
  let descriptor: Int32
  /// Whether the handshake is complete.
  var isEstablished: Bool { tls?.isEstablished ?? true }
  private let tls: TLSSession?
  private let pace: Int
  private var watcher: DescriptorWatcher?
  private var unsent: [UInt8] = []

  init(_ descriptor: Int32, _ tls: TLSSession?, _ pace: Int) throws {
    self.descriptor = descriptor
    self.tls = tls
    self.pace = pace
    watcher = try DescriptorWatcher(descriptor: descriptor) { [weak self] in self?.ready($0) }
    watcher?.watch(.readable)
  }

  /// Reads nothing more, as a server that hangs.
  func rest() { watcher?.watch([]) }

  func close() {
    guard let watcher else { return }
    self.watcher = nil
    watcher.close()
    Glibc.close(descriptor)
  }

  /// Says goodbye over TLS, and closes.
  func sayGoodbye() {
    tls?.shutDown()
    tls?.takeBytesToSend(into: &unsent)
    write()
    close()
  }

  private func ready(_ readiness: Readiness) {
    if readiness.contains(.readable) {
      var bytes = [UInt8](repeating: 0, count: 1 << 16)
      let count = recv(descriptor, &bytes, bytes.count, 0)
      if count < 0, errno == EAGAIN { return }
      guard count > 0 else { return close() }
      do { try echo(bytes[..<count]) } catch {
        // The client gets the alert.
        tls?.takeBytesToSend(into: &unsent)
        write()
        return close()
      }
    }
    write()
    watcher?.watch(unsent.isEmpty ? .readable : [.readable, .writable])
  }

  private func echo(_ bytes: ArraySlice<UInt8>) throws {
    guard let tls else {
      unsent += bytes
      return
    }
    try bytes.withUnsafeBytes { try tls.receive($0) }
    var plain = [UInt8](repeating: 0, count: 1 << 14)
    while tls.isEstablished {
      let count = try plain.withUnsafeMutableBytes { try tls.read(into: $0) }
      guard count > 0 else { break }
      try plain[..<count].withUnsafeBytes { try tls.write($0) }
    }
    tls.takeBytesToSend(into: &unsent)
  }

  private func write() {
    let count = send(descriptor, unsent, min(pace, unsent.count), Int32(MSG_NOSIGNAL))
    if count > 0 { unsent.removeFirst(count) }
  }
}
