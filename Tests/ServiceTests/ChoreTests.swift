import EventLoop
import TestSupport
import Testing

@testable import Service

/// The looks of a chore.
@LoopActor
struct ChoreTests {
  /// A chore whose looks wait until somebody lets them go.
  @LoopActor
  private final class Looks {
    var begun = 0
    var ended = 0
    var cancelled = 0
    var isReady = true
    let (change, gate) = (LoopSignal(), LoopSignal())
    var isOpen = true

    func look() async {
      begun += 1
      change.notify()
      while !isOpen, !Task.isCancelled { await gate.wait(atMost: .patience) }
      if Task.isCancelled { cancelled += 1 } else { ended += 1 }
      change.notify()
    }

    /// Waits until a condition holds.
    func until(_ condition: @LoopActor () -> Bool) async throws {
      try await change.wait(for: "a look of the chore", until: condition)
    }
  }

  private let looks = Looks()

  private func chore(
    every interval: Duration = .seconds(3600), after first: Duration = .seconds(3600),
    _ ending: Chore.Ending = .finished
  ) -> Chore {
    Chore(
      every: interval, after: first, ending, isReady: { [looks] in looks.isReady },
      look: { [looks] in await looks.look() })
  }

  @Test func `a chore looks again and again`() async throws {
    let chore = chore(every: .milliseconds(1), after: .zero)
    chore.start()
    chore.start()
    try await looks.until { looks.ended >= 3 }
    await chore.stop(within: .seconds(60))
    let ended = looks.ended
    chore.start()
    chore.lookNow()
    for _ in 0..<100 { await Task.yield() }
    #expect(looks.begun == ended && looks.ended == ended)
  }

  @Test func `a hint is followed at once, and once more if a look is running`() async throws {
    looks.isOpen = false
    let chore = chore()
    chore.start()
    chore.lookNow()
    try await looks.until { looks.begun == 1 }
    chore.lookNow()
    chore.lookNow()
    #expect(looks.begun == 1)
    looks.isOpen = true
    looks.gate.notify()
    try await looks.until { looks.ended == 2 }
    await chore.stop(within: .seconds(60))
    #expect(looks.begun == 2)
  }

  @Test func `an earlier look comes before the interval`() async throws {
    let chore = chore()
    chore.start()
    chore.look(after: .milliseconds(1))
    try await looks.until { looks.ended == 1 }
    await chore.stop(within: .seconds(60))
  }

  @Test func `nothing is looked at before the start, while nothing is ready, or after the close`() async throws {
    let chore = chore()
    chore.lookNow()
    looks.isReady = false
    chore.start()
    chore.lookNow()
    chore.close()
    looks.isReady = true
    chore.lookNow()
    chore.look(after: .zero)
    for _ in 0..<100 { await Task.yield() }
    await chore.stop(within: .seconds(60))
    #expect(looks.begun == 0)
  }

  @Test func `a look ends within the grace period, or is cancelled`() async throws {
    looks.isOpen = false
    let first = chore()
    first.start()
    first.lookNow()
    try await looks.until { looks.begun == 1 }
    let stopping = Task { @LoopActor in await first.stop(within: .seconds(120)) }
    for _ in 0..<100 { await Task.yield() }
    #expect(looks.ended == 0 && looks.cancelled == 0)
    looks.isOpen = true
    looks.gate.notify()
    await stopping.value
    #expect(looks.ended == 1)

    looks.isOpen = false
    let second = chore()
    second.start()
    second.lookNow()
    try await looks.until { looks.begun == 2 }
    await second.stop(within: .zero)
    // The stop waits some seconds for it, and a busy machine may need more.
    try await looks.until { looks.cancelled == 1 }
  }

  @Test func `a look whose end nobody needs is cancelled at once`() async throws {
    looks.isOpen = false
    let chore = chore(.dropped)
    chore.start()
    chore.lookNow()
    try await looks.until { looks.begun == 1 }
    await chore.stop(within: .seconds(120))
    try await looks.until { looks.cancelled == 1 }
  }

  @Test func `a last chore goes on until the stop`() async throws {
    let chore = chore(.last)
    chore.start()
    chore.close()
    chore.lookNow()
    try await looks.until { looks.ended == 1 }
    await chore.stop(within: .seconds(60))
    chore.lookNow()
    for _ in 0..<100 { await Task.yield() }
    #expect(looks.begun == 1)
  }
}
