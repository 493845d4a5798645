import EventLoop
import Observability
import Testing

@testable import Service

/// How many messages wait in a role's queues.
@LoopActor
struct QueueDepthsTests {
  private struct Missing: Error {}

  @Test func `a queue that cannot be counted leaves the others theirs`() async {
    let look = QueueDepths(
      depth: { queue in
        switch queue {
        case "missing": throw Missing()
        case "away": nil
        default: queue.utf8.count
        }
      }, queues: ["one", "missing", "away", "three"], log: Log(level: .error))
    let found = await look.run()
    #expect(found.map(\.queue) == ["one", "three"] && found.map(\.messages) == [3, 5])
  }
}
