import Domain
import EventLoop
import Observability
import TestSupport
import Testing

@testable import Service

/// How confirmed events leave the outbox in a role that makes no commits.
@LoopActor
struct ConfirmedEventsTests {
  private struct Away: Error {}

  @LoopActor
  private final class Outbox {
    var removed: [[EventId]] = []
    var isAway = false
    /// Whether the ledger answers.
    var isOpen = true
    let gate = LoopSignal()

    func remove(_ ids: [EventId]) async throws {
      while !isOpen, !Task.isCancelled { await gate.wait(atMost: .seconds(120)) }
      if isAway { throw Away() }
      removed.append(ids)
    }
  }

  private let outbox = Outbox()

  private func events() -> ConfirmedEvents {
    ConfirmedEvents(Log(level: .error)) { [outbox] in try await outbox.remove($0) }
  }

  @Test func `those of one turn leave together`() async throws {
    let events = events()
    events.add("a")
    events.add("b")
    try await eventually("they are removed") { !outbox.removed.isEmpty }
    events.add("c")
    try await eventually("the next one is removed") { outbox.removed.count == 2 }
    #expect(outbox.removed == [["a", "b"], ["c"]])
  }

  @Test func `a stop waits for the ledger, also for what was confirmed in this turn`() async throws {
    let events = events()
    outbox.isOpen = false
    events.add("a")
    let stop = Task { @LoopActor in await events.stop(within: .seconds(120)) }
    for _ in 0..<100 { await Task.yield() }
    #expect(outbox.removed.isEmpty)
    outbox.isOpen = true
    outbox.gate.notify()
    await stop.value
    #expect(outbox.removed == [["a"]])
  }

  @Test func `what the ledger does not take stays there`() async {
    let events = events()
    outbox.isAway = true
    events.add("a")
    await events.stop(within: .seconds(120))
    outbox.isAway = false
    await events.stop(within: .seconds(120))
    #expect(outbox.removed.isEmpty)
  }
}
