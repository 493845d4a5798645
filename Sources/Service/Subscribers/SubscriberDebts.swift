import Domain
import EventLoop
import Ledger
import Observability

/// What subscribers miss, until the ledger has noted it.
@LoopActor
final class SubscriberDebts {
  /// Notes what is missed. The first list takes its events out of the outbox, the second one does not.
  typealias Write = @LoopActor ([OwedEvents.Missed], _ others: [OwedEvents.Missed]) async throws -> Void

  /// What is missed of one event. One commit notes all of it, because it takes the event out of the outbox.
  private struct Debt {
    let missed: [OwedEvents.Missed]
    /// Whether the outbox has the event if the ledger does not take this. An event that a connection has lost may have
    /// left the outbox, or it may be there because the fleet's own queue does not have it yet.
    let isInOutbox: Bool
  }

  private let log: Log
  private let pause: Duration
  private let write: Write
  private var debts: [Debt] = []
  /// Those of the write under way.
  private var writing: [Debt] = []
  private let running = RunningTasks()
  private var isStopping = false
  private var hasStopped = false
  private lazy var writeLater = EndOfTurn { [weak self] in self?.begin() }
  /// What the ledger does not take must not fill the memory.
  static let most = 20_000
  private static let mostWritten = 1000
  private static let tooLate = "the ledger could not note it before the role ended"

  /// - Parameter pause: the time between two tries while the ledger does not take it.
  init(_ log: Log, pause: Duration = .seconds(1), write: @escaping Write) {
    (self.log, self.pause, self.write) = (log, pause, write)
  }

  /// Notes what is missed of one event.
  func add(_ missed: [OwedEvents.Missed], isInOutbox: Bool) {
    let debt = Debt(missed: missed, isInOutbox: isInOutbox)
    guard debts.count < Self.most else { return drop([debt], "too many could not be noted") }
    guard !hasStopped else { return drop([debt], Self.tooLate) }
    debts.append(debt)
    writeLater.plan()
  }

  /// Lets the ledger note what is left. What it does not take now, nobody will write: the role ends.
  func stop(within grace: Duration) async {
    begin()
    isStopping = true
    await running.finish(within: grace)
    hasStopped = true
    // A write that hangs longer than the grace period may fail later, and nobody would hear it then.
    drop(writing + debts, Self.tooLate)
    (writing, debts) = ([], [])
  }

  private func begin() {
    // The last try is under way or over.
    guard !isStopping, running.count == 0 else { return }
    running.start { [self] in
      while !debts.isEmpty, await writeSome() {}
    }
  }

  /// - Returns: whether another try makes sense.
  private func writeSome() async -> Bool {
    let batch = Array(debts.prefix(Self.mostWritten))
    debts.removeFirst(batch.count)
    writing = batch
    defer { writing = [] }
    do {
      let (inOutbox, others) = (batch.filter(\.isInOutbox), batch.filter { !$0.isInOutbox })
      try await write(inOutbox.flatMap(\.missed), others.flatMap(\.missed))
      return true
    } catch {
      log.ledgerFailure("events that subscribers missed could not be noted yet", error)
      guard !hasStopped else { return false }
      // The outbox has the others still, and a sweep publishes them to everybody again.
      debts += batch.filter { !$0.isInOutbox }
      guard !isStopping else { return false }
      return (try? await EventLoop.sleep(for: pause)) != nil
    }
  }

  private func drop(_ debts: [Debt], _ cause: String) {
    for debt in debts where !debt.isInOutbox {
      for missed in debt.missed {
        log.error(
          "a subscriber may miss an event: \(cause)",
          ["subscriber": .string(missed.subscriber), "eventId": .string(missed.eventId.text)])
      }
    }
  }
}
