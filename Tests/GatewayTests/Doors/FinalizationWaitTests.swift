import Domain
import EventLoop
import TestSupport
import Testing

@testable import Gateway

/// Waiting for results, without a broker.
@LoopActor
struct FinalizationWaitTests {
  private let result = SynchronizationResult(.purchaseSynchronized, accessGranted: true, offerId: "S1")

  @Test func `a wait ends when all results are there`() async throws {
    let waits = FinalizationWaits(name: "g", most: 1)
    let wait = try #require(waits.begin(["a", "b"], of: 1))
    let done = Task.immediate { @LoopActor in await wait.untilFinalized(atMost: .patience) }
    wait.note("a", result)
    wait.note("c", result)
    #expect(wait.missing == ["b"])
    wait.note("b", result)
    await done.value
    #expect(wait.results == ["a": result, "b": result])
  }

  @Test func `a result that comes before the wait counts`() async throws {
    let wait = try #require(FinalizationWaits(name: "g", most: 1).begin(["a"], of: 1))
    wait.note("a", result)
    await wait.untilFinalized(atMost: .patience)
    #expect(wait.results["a"] == result)
  }

  @Test func `a job that was not accepted is not waited for`() async throws {
    let wait = try #require(FinalizationWaits(name: "g", most: 1).begin(["a"], of: 1))
    wait.forget("a")
    await wait.untilFinalized(atMost: .patience)
    #expect(wait.results.isEmpty)
  }

  @Test func `a wait ends with its time`() async throws {
    let wait = try #require(FinalizationWaits(name: "g", most: 1).begin(["a"], of: 1))
    await wait.untilFinalized(atMost: .milliseconds(1))
    #expect(wait.missing == ["a"])
  }

  @Test func `only some requests wait at a time`() throws {
    let waits = FinalizationWaits(name: "g", most: 4)
    for id: SynchronizationId in ["a", "b", "c"] { _ = try #require(waits.begin([id], of: 1)) }
    // The last place is another publisher's.
    #expect(waits.begin(["d"], of: 1) == nil)
    _ = try #require(waits.begin(["d"], of: 2))
    #expect(waits.begin(["e"], of: 3) == nil)
    #expect(waits.count == 4)
    waits.end(["a"], of: 1)
    #expect(waits.begin(["e"], of: 1) != nil)
  }

  @Test func `long receipts of one publisher leave places to others`() throws {
    let waits = FinalizationWaits(name: "g", most: 400)
    func ids(_ receipt: Int) -> [SynchronizationId] { (0..<DoorRegistration.mostPurchases).map { "\(receipt)-\($0)" } }
    var receipts = 0
    while waits.begin(ids(receipts), of: 1) != nil { receipts += 1 }
    // 2600 of 3400 synchronizations, although many more requests may wait.
    #expect(receipts == 13)
    _ = try #require(waits.begin(ids(100), of: 2))
    waits.end(ids(0), of: 1)
    #expect(waits.begin(ids(0), of: 1) != nil)
  }
}
