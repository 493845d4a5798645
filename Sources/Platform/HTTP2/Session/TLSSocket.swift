package import Crypto
package import EventLoop
import Glibc

/// TLS over a non-blocking socket, for the connections of both sides.
///
/// It reads and writes as much as goes without waiting, and its connection decides when.
@LoopActor
package final class TLSSocket {
  /// The TLS of this side.
  package let tls: TLSSession
  private let descriptor: Int32
  private let scratch: Scratch
  private let bytesPerWrite: Int
  private var watcher: DescriptorWatcher?
  /// Encrypted bytes that the socket has not taken yet.
  private var unsent: [UInt8] = []

  /// Takes over the descriptor, even if it throws.
  ///
  /// - Parameters:
  ///   - bytesPerWrite: enough for some dozens of messages, and so few that a slow peer costs little memory.
  ///   - onReadiness: the socket calls it when there are bytes to read, or room to write. ``watch(_:)`` chooses between
  ///     them.
  ///   - place: whose socket it is, for the log of slow turns.
  package init(
    takingOwnershipOf descriptor: Int32, bytesPerWrite: Int, _ scratch: Scratch,
    _ tls: @autoclosure () throws -> TLSSession, at place: StaticString = #fileID,
    onReadiness: @escaping @LoopActor (Readiness) -> Void
  ) throws {
    self.descriptor = descriptor
    self.bytesPerWrite = bytesPerWrite
    self.scratch = scratch
    do {
      self.tls = try tls()
      watcher = try DescriptorWatcher(descriptor: descriptor, at: place, onReadiness)
    } catch {
      Glibc.close(descriptor)
      throw error
    }
  }

  /// Whether encrypted bytes still wait for the socket.
  package var hasUnsent: Bool { !unsent.isEmpty }

  /// Chooses the readiness of which `onReadiness` is told.
  package func watch(_ readiness: Readiness) { watcher?.watch(readiness) }

  // MARK: Reading

  /// Reads once, continues the handshake, and returns the number of bytes; 0 when there are none now.
  ///
  /// - Throws: ``ConnectionLost``, or a `CryptoError` that ``sendAlert()`` tells the peer.
  package func receive() throws -> Int {
    let count = recv(descriptor, scratch.received.bytes.baseAddress, scratch.received.bytes.count, 0)
    let code = errno
    if count < 0, code == EAGAIN || code == EINTR { return 0 }
    guard count > 0 else {
      throw ConnectionLost(
        description: count == 0 ? "the peer closed the connection" : String(cString: strerror(code)))
    }
    try tls.receive(UnsafeRawBufferPointer(rebasing: scratch.received.bytes[..<count]))
    return count
  }

  /// Decrypts all received bytes, a piece at a time, until `piece` returns false.
  package func read(_ piece: (UnsafeRawBufferPointer) throws -> Bool) throws {
    while true {
      let count = try tls.read(into: scratch.decrypted.bytes)
      guard count > 0, try piece(UnsafeRawBufferPointer(rebasing: scratch.decrypted.bytes[..<count])) else { return }
    }
  }

  // MARK: Writing

  /// Encrypts the bytes to send, unless encrypted bytes still wait for the socket. Returns whether there may be more.
  ///
  /// - Parameter fill: appends at least as many bytes as its limit, if there are as many.
  package func encrypt(_ fill: (_ buffer: inout [UInt8], _ limit: Int) throws -> Void) throws -> Bool {
    guard unsent.isEmpty else { return true }
    scratch.plaintext.removeAll(keepingCapacity: true)
    try fill(&scratch.plaintext, bytesPerWrite)
    try scratch.plaintext.withUnsafeBytes { try tls.write($0) }
    tls.takeBytesToSend(into: &unsent)
    return scratch.plaintext.count >= bytesPerWrite
  }

  /// Writes once and returns the number of bytes; 0 when the socket takes none now.
  @discardableResult
  package func send() throws(ConnectionLost) -> Int {
    guard !unsent.isEmpty else { return 0 }
    let count = unsent.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    let code = errno
    guard count >= 0 else {
      if code == EAGAIN || code == EINTR { return 0 }
      throw ConnectionLost(description: String(cString: strerror(code)))
    }
    unsent.removeFirst(count)
    return count
  }

  // MARK: Ending

  /// Tells the peer the defect of its TLS, as far as one write can carry it.
  package func sendAlert() {
    tls.takeBytesToSend(into: &unsent)
    _ = try? send()
  }

  /// Says goodbye, as far as one write can carry it.
  package func sayGoodbye(_ fill: (_ buffer: inout [UInt8], _ limit: Int) throws -> Void) {
    _ = try? encrypt(fill)
    tls.shutDown()
    sendAlert()
  }

  /// Makes ``close()`` send RST instead of FIN.
  package func resetOnClose() {
    var lingering = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &lingering, socklen_t(MemoryLayout<linger>.size))
  }

  /// Closes the socket. Call it once.
  package func close() {
    watcher?.close()
    Glibc.close(descriptor)
  }
}

/// The error of a socket that is of no use any more.
package struct ConnectionLost: Error, CustomStringConvertible {
  /// The reason.
  package let description: String
}
