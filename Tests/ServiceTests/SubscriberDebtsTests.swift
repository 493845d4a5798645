import Domain
import EventLoop
import Ledger
import Observability
import TestSupport
import Testing

@testable import Service

/// What subscribers miss, until the ledger has noted it.
@LoopActor
struct SubscriberDebtsTests {
  private struct Away: Error {}

  @LoopActor
  private final class Debtor {
    /// The ids of the events that leave the outbox, and of the others, a write each.
    var written: [(inOutbox: [EventId], others: [EventId])] = []
    var tries = 0
    var isAway = false

    func write(_ inOutbox: [OwedEvents.Missed], _ others: [OwedEvents.Missed]) throws {
      tries += 1
      if isAway { throw Away() }
      written.append((inOutbox.map(\.eventId), others.map(\.eventId)))
    }
  }

  private let ledger = Debtor()

  private func debts() -> SubscriberDebts {
    SubscriberDebts(Log(level: .error), pause: .milliseconds(1)) { [ledger] in try ledger.write($0, $1) }
  }

  private func missed(_ id: EventId) -> [OwedEvents.Missed] {
    [OwedEvents.Missed(eventId: id, subscriber: "search", cause: "no connection", pause: .zero)]
  }

  @Test func `those of one turn are noted together, and only those in the outbox leave it`() async throws {
    let debts = debts()
    debts.add(missed("a"), isInOutbox: true)
    debts.add(missed("b"), isInOutbox: false)
    try await eventually("the ledger has them") { !ledger.written.isEmpty }
    #expect(ledger.written.map(\.inOutbox) == [["a"]] && ledger.written.map(\.others) == [["b"]])
  }

  @Test func `what the outbox does not have is tried again until the ledger takes it`() async throws {
    let debts = debts()
    ledger.isAway = true
    debts.add(missed("a"), isInOutbox: true)
    debts.add(missed("b"), isInOutbox: false)
    try await eventually("the ledger has refused them") { ledger.tries > 0 }
    ledger.isAway = false
    try await eventually("the ledger has them") { !ledger.written.isEmpty }
    // A sweep publishes the other one to everybody again.
    #expect(ledger.written.map(\.inOutbox) == [[]] && ledger.written.map(\.others) == [["b"]])
  }

  @Test func `a stop lets the ledger note what came last`() async {
    let debts = debts()
    debts.add(missed("a"), isInOutbox: false)
    await debts.stop(within: .seconds(120))
    #expect(ledger.written.map(\.others) == [["a"]])
  }

  @Test func `a stop tries once while the ledger is away`() async {
    let debts = debts()
    ledger.isAway = true
    debts.add(missed("a"), isInOutbox: false)
    await debts.stop(within: .seconds(120))
    // Nor at the end of the turn, nor for what comes later.
    await withCheckedContinuation { waiter in EndOfTurn { waiter.resume() }.plan() }
    #expect(ledger.tries == 1)
    ledger.isAway = false
    await debts.stop(within: .seconds(120))
    debts.add(missed("b"), isInOutbox: false)
    for _ in 0..<100 { await Task.yield() }
    #expect(ledger.tries == 1 && ledger.written.isEmpty)
  }
}
