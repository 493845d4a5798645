import Domain
import EventLoop
import Testing

@testable import Messaging

/// The queues that one process uses for events.
@LoopActor
struct DeliveryQueuesTests {
  @LoopActor
  private final class Clock {
    var now = Duration.zero
  }

  @Test func `many events go where no few events stand`() {
    let clock = Clock()
    let queues = DeliveryQueues(Topology(prefix: "cs"), clock: { clock.now })
    var counts: [String: Int] = [:]
    for _ in 0..<20_000 { counts[queues.next(of: 1), default: 0] += 1 }
    #expect(counts == ["cs.notifier": 100, "cs.notifier.burst": 1_900, "cs.notifier.flood": 18_000])
    #expect(queues.next(of: 2) == "cs.notifier")
    clock.now = .seconds(60)
    #expect(queues.next(of: 1) == "cs.notifier")
  }
}
