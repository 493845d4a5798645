import Domain
import EventLoop
import Fleets
import Ledger
import Postgres
import ServerSupport
import TestSupport
import Testing

/// What notifiers note while the ledger is away, and comes back.
@Suite(
  .breakingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(30))
)
@LoopActor
struct DeliveryOutageTests {
  @Test func `ends of attempts wait for the ledger, and are written once`() async throws {
    let servers = try #require(TestServers.current)
    try await LedgerDatabase.migrated { (ledger) async throws in
      let bench = DeliveryLedgerTests.Bench(ledger)
      _ = try await bench.deliveries.keepLog(for: .seconds(86_400))
      let delivery = try await bench.event()
      try await servers.kill(.postgres)
      try await eventually("it is away") { !ledger.isReady }
      let ends = (0..<20).map { number in
        Task { @LoopActor in
          try await bench.end(delivery, at: "ep_\(number)", among: (0..<20).map { "ep_\($0)" }, .delivered)
        }
      }
      // A notifier that stops gives its message back.
      let cancelled = Task { @LoopActor in try await bench.end(delivery, at: "ep_x", .delivered) }
      try await eventually("all wait") { bench.recorder.waiting == 21 }
      cancelled.cancel()
      await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
      await #expect(throws: PostgresError.self) { _ = try await bench.state(delivery) }
      try await servers.start(.postgres)
      for end in ends { _ = try await end.value }
      #expect(bench.recorder.waiting == 0)
      #expect(try await bench.rows().isEmpty)
      #expect(try await bench.deliveries.attempts(publisher: 1, event: "evt_1", limit: 99).attempts.count == 20)
    }
  }

  @Test func `a recorder that closes ends every wait`() async throws {
    let servers = try #require(TestServers.current)
    try await LedgerDatabase.migrated { (ledger) async throws in
      let bench = DeliveryLedgerTests.Bench(ledger)
      let delivery = try await bench.event()
      try await servers.kill(.postgres)
      try await eventually("it is away") { !ledger.isReady }
      let end = Task { @LoopActor in try await bench.end(delivery, at: "a", .delivered) }
      try await eventually("it waits") { bench.recorder.waiting == 1 }
      bench.recorder.close()
      await #expect(throws: CancellationError.self) { _ = try await end.value }
      await #expect(throws: CancellationError.self) { _ = try await bench.end(delivery, at: "a", .delivered) }
      try await servers.start(.postgres)
    }
  }
}
