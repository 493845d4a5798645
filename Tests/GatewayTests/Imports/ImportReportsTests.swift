import Domain
import EventLoop
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPServer

/// The reports of imports, with a reader by value.
@LoopActor
struct ImportReportsTests {
  private struct Deleted: Error {}

  private let reports = ImportReports()
  private let pieces: [Int64: [UInt8]] = [1: [2, 3], 3: [4]]

  /// Reads what is there now.
  private func take(_ stream: AnswerStream) -> AnswerStream.Taken {
    withUnsafeTemporaryAllocation(byteCount: 8, alignment: 1) { stream.take(into: $0) }
  }

  /// Waits for something else than nothing.
  private func read(_ stream: AnswerStream) async throws -> AnswerStream.Taken {
    var taken = AnswerStream.Taken.nothingYet
    try await eventually("a piece comes") {
      taken = take(stream)
      return taken != .nothingYet
    }
    return taken
  }

  private func report(onFailure: @escaping @LoopActor (any Error) -> Void = { _ in }) -> AnswerStream {
    reports.stream(of: 7, first: [1], next: { [pieces] in pieces[$0] }, onFailure: onFailure)
  }

  @Test func `each piece follows the one that was read, and the place is free at the end`() async throws {
    #expect(reports.begin(of: 7))
    let stream = report()
    for taken in [AnswerStream.Taken.bytes(1), .bytes(2), .bytes(1), .end] {
      #expect(try await read(stream) == taken)
    }
    // A publisher has six of the eight places.
    for _ in 0..<6 { #expect(reports.begin(of: 7)) }
    #expect(!reports.begin(of: 7))
  }

  @Test func `a report that is deleted meanwhile has no end, and its reason is told`() async throws {
    #expect(reports.begin(of: 7))
    var failures: [any Error] = []
    let stream = reports.stream(
      of: 7, first: [1], next: { _ in throw Deleted() }, onFailure: { failures.append($0) })
    #expect(try await read(stream) == .bytes(1))
    #expect(try await read(stream) == .broken)
    #expect(failures.count == 1 && failures[0] is Deleted)
  }

  @Test func `a client may read to the end within the grace period, and no report begins`() async throws {
    #expect(reports.begin(of: 7))
    let stream = report()
    let stopping = Task { @LoopActor in await reports.stop(within: .patience) }
    for _ in 0..<100 { await Task.yield() }
    #expect(!reports.begin(of: 8))
    for taken in [AnswerStream.Taken.bytes(1), .bytes(2), .bytes(1), .end] {
      #expect(try await read(stream) == taken)
    }
    await stopping.value
  }

  @Test func `a report ends with its client, which is no failure`() async throws {
    #expect(reports.begin(of: 7))
    var failures = 0
    let stream = report { _ in failures += 1 }
    #expect(try await read(stream) == .bytes(1))
    stream.leave()
    await reports.stop(within: .patience)
    #expect(failures == 0 && !stream.isOpen)
  }
}
