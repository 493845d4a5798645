import EventLoop
import HTTP
import Testing

@testable import HTTP2
@testable import HTTP2Server

/// The two HTTP/2 sides against each other, without a network.
@LoopActor
struct HTTP2ClientSessionTests {
  @Test func `a request that the server did not process is told apart from one that broke off`() throws {
    var requests = 0
    let server = try HTTP2Session(maxConcurrentStreams: 10, maxRequestBytes: 10) { _, _ in
      requests += 1
      return Task {}
    }
    let client = try HTTP2ClientSession()
    try pass(from: client, to: server)
    try pass(from: server, to: client)
    #expect(client.room == 10)

    let first = call("/first")
    #expect(client.submit(first, userAgent: "test"))
    try pass(from: client, to: server)
    #expect(requests == 1)
    let second = call("/second")
    #expect(client.submit(second, userAgent: "test"))
    // The goodbye crosses the second request. The client does not even send the third.
    server.terminate()
    var goodbye: [UInt8] = []
    try server.takeBytesToSend(into: &goodbye, limit: 1 << 20)
    try pass(from: client, to: server)
    let third = call("/third")
    #expect(client.submit(third, userAgent: "test"))
    try goodbye.withUnsafeBytes { try client.receive($0) }
    try pass(from: client, to: server)
    #expect(requests == 1)
    #expect(client.room == 0)
    let refused = client.takeEnded()
    #expect(refused.map(\.ending) == [.refused, .refused])
    #expect(refused.map { $0.call === second } == [true, false])
    #expect(refused.map { $0.call === third } == [false, true])
    #expect(!client.submit(call("/fourth"), userAgent: "test"))
    #expect(client.abandon().map { $0 === first } == [true])
    server.close()
  }

  @Test func `rubbish ends the session`() throws {
    let client = try HTTP2ClientSession()
    try Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8).withUnsafeBytes { try client.receive($0) }
    var goodbye: [UInt8] = []
    try client.takeBytesToSend(into: &goodbye, limit: 1 << 20)
    #expect(client.isFinished)
    #expect(client.abandon().isEmpty)
    #expect(client.room == 0)
  }

  private func call(_ path: String) -> HTTP2Call {
    let url = "https://a.example\(path)"
    return HTTP2Call(HTTPClientRequest("GET", url), HTTP2URL(url)!)
  }

  private func pass(from client: HTTP2ClientSession, to server: HTTP2Session) throws {
    var bytes: [UInt8] = []
    try client.takeBytesToSend(into: &bytes, limit: 1 << 20)
    try bytes.withUnsafeBytes { try server.receive($0) }
  }

  private func pass(from server: HTTP2Session, to client: HTTP2ClientSession) throws {
    var bytes: [UInt8] = []
    try server.takeBytesToSend(into: &bytes, limit: 1 << 20)
    try bytes.withUnsafeBytes { try client.receive($0) }
  }
}
