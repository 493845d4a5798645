import EventLoop
import Fleets
import Glibc
import HTTPServer
import TestSupport
import Testing

/// A closing server answers every client that has already connected.
@Suite(.timeLimit(.minutes(15)))
@LoopActor
struct HTTPServerCloseTests {
  private func connect(_ server: HTTPServer) throws -> Int32 {
    try beginConnection(host: "127.0.0.1", port: server.port)
  }

  private func ask(_ descriptor: Int32, _ path: String = "/") {
    let request = Array("GET \(path) HTTP/1.1\r\nHost: here\r\n\r\n".utf8)
    #expect(send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
  }

  /// Everything that the server sends until it closes the connection.
  private func answer(_ descriptor: Int32) async throws -> String {
    var text: [UInt8] = []
    var isOpen = true
    try await eventually("the connection is closed") {
      var bytes = [UInt8](repeating: 0, count: 4096)
      while isOpen {
        let count = recv(descriptor, &bytes, bytes.count, 0)
        if count > 0 { text += bytes.prefix(count) } else { isOpen = count < 0 && errno == EAGAIN }
        if count <= 0 { break }
      }
      return !isOpen
    }
    close(descriptor)
    return String(decoding: text, as: UTF8.self)
  }

  @Test func `who waits in the backlog when a server closes is answered`() async throws {
    let server = try HTTPServer(.unlimited) { _ in .text(200, "here") }
    // The loop has no turn between these connections and the end of the listener: the server has accepted none of
    // them.
    let clients = try (0..<50).map { _ in try connect(server) }
    for client in clients { ask(client) }
    await server.close()
    for client in clients {
      let answer = try await answer(client)
      #expect(answer.hasPrefix("HTTP/1.1 200") && answer.lowercased().contains("connection: close"))
    }
  }

  @Test func `a request on a connection that was kept alive is answered while the server closes`() async throws {
    let gate = Gate()
    let server = try HTTPServer(.unlimited) { request in
      if request.path == ["held"] { await gate.pass() }
      return .text(200, "here")
    }
    let client = try connect(server)
    ask(client)
    try await eventually("the first answer is there") {
      var byte: UInt8 = 0
      return recv(client, &byte, 1, Int32(MSG_PEEK)) > 0
    }
    // The server stays open as long as this request runs.
    let slow = try connect(server)
    ask(slow, "/held")
    try await gate.holds(1)
    let closing = Task { @LoopActor in await server.close(grace: .seconds(120)) }
    try await eventually("nobody new gets in") { server.port == 0 }
    ask(client)
    let answers = try await answer(client)
    #expect(answers.components(of: "HTTP/1.1 200") == 2)
    gate.open()
    #expect(try await answer(slow).hasPrefix("HTTP/1.1 200"))
    await closing.value
  }
}

extension String {
  fileprivate func components(of text: String) -> Int {
    var count = 0
    var rest = self[...]
    while let found = rest.firstRange(of: text) {
      count += 1
      rest = rest[found.upperBound...]
    }
    return count
  }
}
