import EventLoop
import Testing

@testable import HTTPServer

/// The body of an answer that is written while it is read.
@LoopActor
struct AnswerStreamTests {
  private func take(_ most: Int, of stream: AnswerStream) -> (AnswerStream.Taken, [UInt8]) {
    var bytes = [UInt8](repeating: 0, count: most)
    let taken = bytes.withUnsafeMutableBytes { stream.take(into: $0) }
    if case .bytes(let count) = taken { return (taken, Array(bytes.prefix(count))) }
    return (taken, [])
  }

  /// Writes a piece, and returns the writer that waits until it is taken.
  private func writing(_ bytes: [UInt8], _ stream: AnswerStream) -> Task<Void, any Error> {
    Task.immediate { @LoopActor in try await stream.write(bytes) }
  }

  @Test func `a piece goes out in parts, and then the writer goes on`() async throws {
    let stream = AnswerStream()
    #expect(take(4, of: stream).0 == .nothingYet)
    let writer = writing([1, 2, 3], stream)
    #expect(take(2, of: stream) == (.bytes(2), [1, 2]))
    #expect(take(2, of: stream) == (.bytes(1), [3]))
    try await writer.value
    #expect(take(2, of: stream).0 == .nothingYet)
    stream.finish()
    #expect(take(2, of: stream).0 == .end)
    stream.fail()
    #expect(take(2, of: stream).0 == .end && !stream.isOpen)
  }

  @Test func `the reader is told of each piece and of the end`() async throws {
    let stream = AnswerStream()
    var calls = 0
    stream.onReadable = { calls += 1 }
    let writer = writing([1], stream)
    #expect(calls == 1)
    _ = take(1, of: stream)
    try await writer.value
    stream.finish()
    #expect(calls == 2)
  }

  @Test func `a body that breaks off gives nothing more`() async {
    let stream = AnswerStream()
    let writer = writing([1, 2], stream)
    _ = take(1, of: stream)
    stream.fail()
    await #expect(throws: AnswerStream.Unread.self) { try await writer.value }
    #expect(take(1, of: stream).0 == .broken)
  }

  @Test func `nobody writes for a reader that has gone`() async {
    let stream = AnswerStream()
    let writer = writing([1, 2], stream)
    stream.leave()
    await #expect(throws: AnswerStream.Unread.self) { try await writer.value }
    await #expect(throws: AnswerStream.Unread.self) { try await stream.write([3]) }
    stream.finish()
    #expect(take(1, of: stream).0 == .broken && !stream.isOpen)
  }

  @Test func `a stream begins with its first piece or its end`() async throws {
    let written = AnswerStream()
    let writer = writing([1], written)
    #expect(await written.begins())
    written.leave()
    _ = await writer.result
    let empty = AnswerStream()
    empty.finish()
    #expect(await empty.begins())
    let broken = AnswerStream()
    let waiting = Task.immediate { @LoopActor in await broken.begins() }
    broken.fail()
    #expect(await waiting.value == false)
  }
}
