import EventLoop
import HTTP
import HTTPClient
import Testing

/// Many calls that share a connection over HTTP/2.
@Suite(.timeLimit(.minutes(15)))
@LoopActor
struct MultiplexingTests {
  @Test func `large answers do not hold up their neighbours`() async throws {
    try await RunningSimulator.with { running in
      let tasks = (0..<40).map { number in
        Task { @LoopActor in try await running.transaction("\(number % 8 == 0 ? 146 : 100)000000000\(number)").status }
      }
      for task in tasks {
        let status = try await task.value
        #expect(status == 200)
      }
    }
  }

  @Test func `answers that are broken off do not hold up their neighbours`() async throws {
    try await RunningSimulator.with { running in
      for round in 0..<3 {
        let large = (0..<5).map { number in
          Task { @LoopActor in
            try await running.client.send(
              HTTPClientRequest(
                "GET", running.url("/production/inApps/v1/transactions/146000000\(round)\(number)"),
                headers: [("authorization", "Bearer \(try Token().signed(with: running.key))"), ("accept", "*/*")],
                timeout: .seconds(120), maxResponseBytes: 1 << 20)
            ).status
          }
        }
        let small = (0..<35).map { number in
          Task { @LoopActor in try await running.transaction("10000000\(round)\(number)").status }
        }
        for task in large {
          let error = await #expect(throws: HTTPClientError.self) { try await task.value }
          #expect(error?.code == .responseTooLarge)
        }
        for task in small {
          let status = try await task.value
          #expect(status == 200)
        }
      }
    }
  }
}
