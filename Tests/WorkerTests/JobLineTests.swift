import Domain
import EventLoop
import FoundationEssentials
import Messaging
import Observability
import Testing

@testable import Worker

/// The line of the log that leads from an alert about slow synchronizations to one of them.
struct JobLineTests {
  private struct Line: Decodable {
    let event: String
    let synchronizationId, traceId: String?
    let ageSeconds: Double?
  }

  @Test func `the line of a finalized synchronization has its age and its trace`() async throws {
    let result = try #require(
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        try await Task { @LoopActor in
          let bench = try JobRunBench(logLevel: .info)
          bench.attempts = [JobRunBench.attempt()]
          await bench.run(
            Job(
              synchronizationId: "slow", publisherId: 1, customerId: "7", transactionId: "100",
              registeredAt: JobRunBench.now - 61_500,
              traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
        }.value
      })
    let lines = try result.standardErrorContent.split(separator: UInt8(ascii: "\n")).map {
      try JSONDecoder().decode(Line.self, from: Data($0))
    }
    let line = try #require(lines.first { $0.event == "finalized" })
    #expect(line.synchronizationId == "slow" && line.traceId == "0af7651916cd43dd8448eb211c80319c")
    // From the registration to the end, and not only this attempt.
    #expect(line.ageSeconds == 61.5)
  }
}
