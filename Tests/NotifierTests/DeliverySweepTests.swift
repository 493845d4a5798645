import Domain
import EventLoop
import Ledger
import Observability
import Testing

@testable import Notifier

/// The sweep for lost deliveries, with a queue and a ledger by their answers.
@LoopActor
struct DeliverySweepTests {
  private struct Away: Error {}

  @LoopActor
  private final class Servers {
    var waiting: Result<Int, Away> = .success(0)
    var batches: [OverdueDeliveries] = []
    var asked: [Duration] = []
    var published: [EventId] = []
    var takes = Int.max
  }

  private func sweep(_ servers: Servers) -> DeliverySweep {
    DeliverySweep(
      overdue: { time in
        servers.asked.append(time)
        return servers.batches.isEmpty ? OverdueDeliveries() : servers.batches.removeFirst()
      },
      waiting: { try servers.waiting.get() },
      publish: { delivery in
        guard servers.published.count < servers.takes else { throw Away() }
        servers.published.append(delivery.eventId)
      }, after: .seconds(60), log: Log(level: .error, [:]))
  }

  private func batch(_ ids: EventId..., lost: Int = 0, isFull: Bool = false) throws -> OverdueDeliveries {
    var batch = OverdueDeliveries()
    batch.deliveries = try ids.map {
      try Delivery(eventId: $0, endpointId: nil, headers: [:], body: Array(#"{"broadcasterId":1,"topic":"t"}"#.utf8))
    }
    (batch.lost, batch.isFull) = (lost, isFull)
    return batch
  }

  @Test func `while deliveries wait, only long overdue ones are looked for`() async {
    let servers = Servers()
    _ = await sweep(servers).run()
    servers.waiting = .success(1)
    _ = await sweep(servers).run()
    #expect(servers.asked == [.seconds(60), .seconds(600)])
    servers.waiting = .failure(Away())
    #expect(await sweep(servers).run() == DeliverySweep.Result())
    #expect(servers.asked.count == 2)
  }

  @Test func `it goes on while batches are full, and stops at a broker that takes no more`() async throws {
    let servers = Servers()
    servers.batches = [try batch("a", "b", isFull: true), try batch("c", lost: 2), try batch("d")]
    #expect(await sweep(servers).run() == DeliverySweep.Result(enqueued: 3, lost: 2))
    #expect(servers.published == ["a", "b", "c"])
    servers.takes = 4
    servers.batches = [try batch("d", "e", isFull: true), try batch("f")]
    #expect(await sweep(servers).run() == DeliverySweep.Result(enqueued: 1))
  }
}
