import EventLoop
import HTTP2
import Testing

@testable import HTTP2Server

/// The HTTP/2 side of a connection, fed with frames byte by byte.
struct HTTP2SessionTests {
  /// The client's preface and empty settings.
  private let opening: [UInt8] = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
  /// HEADERS that end stream 1: GET / over https from the authority "a".
  private let request: [UInt8] = [0, 0, 6, 1, 5, 0, 0, 0, 1, 0x82, 0x84, 0x87, 0x41, 0x01, 0x61]
  /// RST_STREAM for stream 1 with CANCEL.
  private let cancellation: [UInt8] = [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 8]

  @Test @LoopActor
  func aStreamThatIsResetCancelsItsHandler() throws {
    var requests: [HTTP2Request] = []
    var handler: Task<Void, Never>?
    let session = try HTTP2Session(maxConcurrentStreams: 10, maxRequestBytes: 10) { _, request in
      requests.append(request)
      let task = Task { @LoopActor in _ = try? await EventLoop.sleep(for: .seconds(3600)) }
      handler = task
      return task
    }
    for byte in opening + request { try receive([byte], by: session) }
    #expect(requests.map(\.path) == ["/"])
    #expect(requests.first?.authority == "a")
    #expect(session.isWaitingForHandlers)
    try receive(cancellation, by: session)
    #expect(!session.isWaitingForHandlers)
    #expect(handler?.isCancelled == true)
    // The session drops an answer that comes too late.
    session.respond(HTTP2Response(status: 200), on: 1)
    session.close()
  }

  @Test @LoopActor
  func rubbishEndsTheSession() throws {
    let session = try HTTP2Session(maxConcurrentStreams: 10, maxRequestBytes: 10) { _, _ in Task {} }
    #expect(throws: HTTP2SessionError.self) { try receive(Array("GET / HTTP/1.1\r\n\r\n".utf8), by: session) }
    session.close()
    session.close()
    #expect(session.isFinished)
  }

  @LoopActor
  private func receive(_ bytes: [UInt8], by session: HTTP2Session) throws {
    try bytes.withUnsafeBytes { try session.receive($0) }
  }
}
