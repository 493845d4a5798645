import Domain
import Testing

@testable import Ledger

/// The events of a commit, which nobody may drop.
struct ToldTests {
  private func event(_ id: EventId) -> Event {
    Event(id: id, publisherId: 1, customerId: "7", topic: "t", time: 1, body: [])
  }

  @Test func `the outlet gets the events in their order`() {
    let told = Told([event("a"), event("b")])
    let count = told.count
    #expect(count == 2)
    #expect(told.takeEvents().map(\.id) == ["a", "b"])
  }

  @Test func `a commit that tells nothing needs no outlet`() {
    let told = Told([])
    let isEmpty = told.isEmpty
    #expect(isEmpty)
  }

  @Test func `a result has its events apart`() {
    let synchronization = Synchronization(
      id: "s", publisherId: 1, customerId: "7", transactionId: "100", status: .processing)
    let done = FinalizedSynchronization(Finalized(synchronization: synchronization, events: [event("a")]))
    let id = done.synchronization.id
    #expect(id == "s")
    #expect(done.takeTold().takeEvents().map(\.id) == ["a"])
  }

  // A release build, as of the sanitizers and the roles, leaves them to the sweep of the outbox.
  #if DEBUG
    @Test func `events that no outlet got end a debug build`() async {
      await #expect(processExitsWith: .failure) {
        _ = Told([Event(id: "a", publisherId: 1, customerId: "7", topic: "t", time: 1, body: [])])
      }
    }
  #endif
}
