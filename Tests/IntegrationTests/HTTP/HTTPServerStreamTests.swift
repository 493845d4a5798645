import EventLoop
import Fleets
import HTTPServer
import TestSupport
import Testing

/// Answers that are written while their clients read them: how far the writer gets, and how each of both learns that
/// the other one has gone.
@Suite(.timeLimit(.minutes(15)))
@LoopActor
struct HTTPServerStreamTests {
  /// What the writers of a server's streams did.
  private final class Writers {
    /// The bytes that libmicrohttpd has taken.
    var written = 0
    var failure: (any Error)?
    var isOver = false
    var cuts: [HTTPServer.CutCause] = []
    var streams: [AnswerStream] = []
  }

  private struct Broken: Error {}

  private static let piece = [UInt8](repeating: 97, count: 1 << 20)

  /// Runs a server whose answer to every request is a stream, and whose streams one writer each writes.
  private func with(
    _ change: (inout HTTPServer.Configuration) -> Void = { _ in },
    writing write: @escaping @LoopActor (AnswerStream, Writers) async throws -> Void,
    _ body: @LoopActor (HTTPServer, Writers) async throws -> Void
  ) async throws {
    let writers = Writers()
    var configuration = HTTPServer.Configuration.unlimited
    configuration.idleTimeout = .seconds(3600)
    configuration.onCut = { writers.cuts.append($0) }
    change(&configuration)
    let handler: HTTPServer.Handler = { _ in
      let stream = AnswerStream()
      writers.streams.append(stream)
      Task { @LoopActor in
        do {
          try await write(stream, writers)
          stream.finish()
        } catch {
          writers.failure = error
          stream.fail()
        }
        writers.isOver = true
      }
      return HTTPServerResponse(status: 200, headers: [("Content-Type", "text/plain")], stream: stream)
    }
    try await HTTPServer.running(configuration, handler: handler) { try await body($0, writers) }
  }

  private func write(_ pieces: Int, _ stream: AnswerStream, _ writers: Writers) async throws {
    for _ in 0..<pieces {
      try await stream.write(Self.piece)
      writers.written += Self.piece.count
    }
  }

  private static let ask = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)

  /// The chunks of an answer, and whether the last one is there.
  private func body(_ bytes: [UInt8]) throws -> (bytes: [UInt8], isWhole: Bool) {
    let end = try #require(bytes.firstRange(of: Array("\r\n\r\n".utf8)))
    var (rest, body) = (bytes[end.upperBound...], [UInt8]())
    while let line = rest.firstRange(of: [0x0d, 0x0a]) {
      let size = try #require(Int(String(decoding: rest[..<line.lowerBound], as: UTF8.self), radix: 16))
      guard size > 0 else { return (body, true) }
      body += rest[line.upperBound...].prefix(size)
      rest = rest[line.upperBound...].dropFirst(size + 2)
    }
    return (body, false)
  }

  /// Reads an answer up to its last chunk, or to the end of the connection.
  private func answer(_ client: Stranger) async throws -> (bytes: [UInt8], isWhole: Bool) {
    let last = Array("\r\n0\r\n\r\n".utf8)
    try await client.changed.wait(for: "the answer ends") {
      client.hasEnded || client.received.suffix(last.count).elementsEqual(last)
    }
    return try body(client.received)
  }

  @Test func `a body of many pieces arrives whole, and the connection goes on`() async throws {
    try await with { stream, writers in
      for number in 0..<300 {
        try await stream.write(Array(String(repeating: "\(number % 10)", count: number * 50).utf8))
      }
      try await stream.write([])
    } _: { server, writers in
      let client = try Stranger(to: server.port)
      defer { client.close() }
      let expected = (0..<300).map { String(repeating: "\($0 % 10)", count: $0 * 50) }.joined()
      for _ in 0..<2 {
        client.send(Self.ask)
        let (body, isWhole) = try await answer(client)
        let head = String(decoding: client.received.prefix(200), as: UTF8.self).lowercased()
        #expect(head.hasPrefix("http/1.1 200") && head.contains("transfer-encoding: chunked"))
        #expect(isWhole && String(decoding: body, as: UTF8.self) == expected)
        _ = client.take(client.received.count)
      }
      #expect(writers.failure == nil)
      try await eventually("both have ended") { server.openStreams == 0 }
    }
  }

  @Test func `a client that reads nothing holds the writer, and is cut`() async throws {
    try await with { configuration in
      configuration.idleTimeout = .milliseconds(200)
      configuration.minBodyRate = 1 << 30
    } writing: {
      try await write(1 << 10, $0, $1)
    } _: { server, writers in
      let client = try DeafClient(
        asking: String(decoding: Self.ask, as: UTF8.self), port: server.port, from: "127.0.0.2")
      try await eventually("the writer learns that nobody reads") { writers.isOver }
      client.close()
      #expect(writers.failure is AnswerStream.Unread)
      #expect(writers.cuts == [.slowReader])
      // What the system holds of it, of 1 GiB.
      #expect(writers.written < 64 << 20)
      #expect(server.openStreams == 0)
    }
  }

  @Test func `the writer of a client that hangs up in the middle learns of it`() async throws {
    try await with {
      try await write(1 << 10, $0, $1)
    } _: { server, writers in
      let client = try Stranger(to: server.port)
      client.send(Self.ask)
      try await client.changed.wait(for: "the body begins") { client.received.count > Self.piece.count }
      client.close()
      try await eventually("the writer learns that nobody reads") { writers.isOver }
      #expect(writers.failure is AnswerStream.Unread)
      #expect(writers.written < 1 << 30)
      #expect(server.openStreams == 0)
    }
  }

  @Test func `who hangs up while nothing is written is noticed with the next pieces`() async throws {
    let gate = Gate()
    try await with { stream, writers in
      try await stream.write([97])
      await gate.pass()
      try await write(1 << 10, stream, writers)
    } _: { server, writers in
      let client = try Stranger(to: server.port)
      client.send(Self.ask)
      try await client.changed.wait(for: "the body begins") { client.received.suffix(3) == Array("a\r\n".utf8) }
      try await gate.holds(1)
      client.close()
      gate.open()
      try await eventually("the writer learns that nobody reads") { writers.isOver }
      #expect(writers.failure is AnswerStream.Unread)
      #expect(server.openStreams == 0)
    }
  }

  @Test func `a body that breaks off ends without its last chunk`() async throws {
    try await with { stream, writers in
      try await write(3, stream, writers)
      throw Broken()
    } _: { server, writers in
      let client = try Stranger(to: server.port)
      client.send(Self.ask)
      let (body, isWhole) = try await answer(client)
      #expect(client.hasEnded && !isWhole)
      #expect(body.count == 3 * Self.piece.count)
      #expect(writers.failure is Broken)
      client.close()
    }
  }

  @Test func `a client with HTTP 1.0 gets the body up to the end of the connection`() async throws {
    try await with {
      try await write(3, $0, $1)
    } _: { server, _ in
      let client = try Stranger(to: server.port)
      client.send("GET / HTTP/1.0\r\n\r\n")
      try await client.changed.wait(for: "the connection ends") { client.hasEnded }
      let end = try #require(client.received.firstRange(of: Array("\r\n\r\n".utf8)))
      #expect(client.received[end.upperBound...].elementsEqual(Self.piece + Self.piece + Self.piece))
      client.close()
    }
  }

  @Test func `HEAD gets the head alone, and the writer ends`() async throws {
    try await with {
      try await write(1, $0, $1)
    } _: { server, writers in
      let client = try RawConnection(port: server.port)
      client.put(Array("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
      #expect(try await client.answer()?.status == 200)
      try await eventually("the writer learns that nobody reads") { writers.isOver }
      #expect(writers.failure is AnswerStream.Unread)
      // libmicrohttpd may send the end of the chunks, so no other answer may follow.
      try await eventually("the connection ends") { client.isClosed }
      #expect(["", "0\r\n\r\n"].contains(client.rest))
      client.close()
    }
  }

  @Test(arguments: [true, false])
  func `a closing server breaks off what does not end in time`(isSilent: Bool) async throws {
    let gate = Gate()
    let writers = Writers()
    let server = try HTTPServer(.unlimited) { _ in
      let stream = AnswerStream()
      Task { @LoopActor in
        do {
          try await stream.write([97])
          if isSilent { await gate.pass() }
          while true { try await stream.write(Self.piece) }
        } catch {
          writers.failure = error
        }
        writers.isOver = true
      }
      return HTTPServerResponse(status: 200, stream: stream)
    }
    let client = try Stranger(to: server.port)
    client.send(Self.ask)
    try await client.changed.wait(for: "the body begins") {
      isSilent ? client.received.suffix(5).elementsEqual(Array("\r\na\r\n".utf8)) : client.received.count > 1 << 20
    }
    await server.close(grace: .zero)
    gate.open()
    try await eventually("the writer learns that nobody reads") { writers.isOver }
    #expect(writers.failure is AnswerStream.Unread)
    #expect(try await answer(client).isWhole == false)
    client.close()
  }

  @Test func `a closing server waits for a body that ends`() async throws {
    let gate = Gate()
    let server = try HTTPServer(.unlimited) { _ in
      let stream = AnswerStream()
      Task { @LoopActor in
        await gate.pass()
        try? await stream.write(Self.piece)
        stream.finish()
      }
      return HTTPServerResponse(status: 200, stream: stream)
    }
    let client = try Stranger(to: server.port)
    client.send(Self.ask)
    try await gate.holds(1)
    try await eventually("the answer has begun") { server.openStreams == 1 }
    let closing = Task { @LoopActor in await server.close(grace: .seconds(600)) }
    try await eventually("nobody new gets in") { server.port == 0 }
    gate.open()
    let (body, isWhole) = try await answer(client)
    #expect(isWhole && body == Self.piece)
    await closing.value
    client.close()
  }
}
