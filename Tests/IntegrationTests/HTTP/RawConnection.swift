import EventLoop
import Fleets
import Glibc
import TestSupport
import Testing

/// A client's connection on which a test sends any bytes and reads the server's answers.
@LoopActor
final class RawConnection {
  private let stranger: Stranger
  /// Whether the connection has ended.
  var isClosed: Bool { stranger.hasEnded }
  /// The text that has arrived and is not yet part of an answer.
  var rest: String { String(decoding: stranger.received, as: UTF8.self) }

  /// - Parameter source: the address of the loopback network from which it comes.
  init(port: Int, from source: String = "127.0.0.1") throws { stranger = try Stranger(from: source, to: port) }

  func close() { stranger.close() }

  /// Sends bytes on a connection of its own and closes it, before the server can look.
  static func leave(_ bytes: [UInt8], at port: Int) throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { Glibc.close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
    // The system accepts and buffers: nothing here waits for the loop, on which the server runs too.
    let connected = withUnsafeBytes(of: &address) {
      connect(descriptor, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t($0.count))
    }
    #expect(connected == 0)
    #expect(send(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)) == bytes.count)
  }

  /// Sends bytes and waits for nothing.
  func put(_ bytes: [UInt8]) { stranger.send(bytes) }

  /// Waits until the server has closed the connection.
  func end() async throws {
    try await stranger.changed.wait(for: "the server closes the connection") { isClosed }
  }

  /// Sends a request and waits for its answer.
  ///
  /// - Returns: the status; `nil` when the server closed the connection without an answer.
  func status(of request: String) async throws -> Int? {
    put(Array(request.utf8))
    return try await answer()?.status
  }

  /// Waits for an answer; `nil` when the server closed the connection without one.
  func answer() async throws -> (status: Int, body: String)? {
    var answer: (status: Int, body: String)?
    try await stranger.changed.wait(for: "the server answers or closes the connection") {
      answer = takeAnswer()
      return answer != nil || isClosed
    }
    return answer
  }

  /// Removes an answer with a `Content-Length` from the received bytes, if it is complete.
  private func takeAnswer() -> (status: Int, body: String)? {
    let text = rest
    guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
    let lines = text[..<end.lowerBound].split(separator: "\r\n")
    let length = lines.first { $0.lowercased().hasPrefix("content-length:") }
    let size = length.flatMap { Int($0.drop { $0 != ":" }.dropFirst(2)) } ?? 0
    let whole = text[..<end.upperBound].utf8.count + size
    guard stranger.received.count >= whole, let status = lines.first?.split(separator: " ").dropFirst().first else {
      return nil
    }
    let body = String(decoding: stranger.take(whole).suffix(size), as: UTF8.self)
    return Int(status).map { ($0, body) }
  }
}
