import Configuration
import Domain
public import EventLoop
import Ledger
import Messaging
import Observability
public import Postgres

/// Gives events to all subscribers, each at its own pace. What a subscriber does not take, the ledger owes it.
///
/// For example, a search service's queue is full. Each event goes into the fleet's own queue and to all other
/// subscribers as always. The ledger notes that the search service misses it. A worker tries it again later.
@LoopActor
public final class EventSubscribers {
  /// One for each subscriber.
  public let outlets: [SubscriberOutlet]
  private let context: RoleContext
  private let owed: OwedEvents
  private var debts: [Debt] = []
  private var isWriting = false
  private lazy var writeLater = EndOfTurn { [weak self] in self?.writeDebts() }
  /// What the ledger does not take must not fill the memory.
  private static let mostDebts = 20_000
  private static let mostWritten = 1000

  /// What is missed of one event. One commit notes all of it, because it takes the event out of the outbox.
  private struct Debt {
    let missed: [OwedEvents.Missed]
    /// Whether the outbox has the event if the ledger does not take this. An event that a connection has lost may have
    /// left the outbox, or it may be there because the fleet's own queue does not have it yet.
    let isInOutbox: Bool
  }

  /// Creates the subscribers of the configuration. Nothing happens before ``start()``.
  public init(_ context: RoleContext, _ postgres: PostgresClient) {
    self.context = context
    owed = OwedEvents(postgres)
    let names = [EventSubscriber.shared] + context.settings.events.subscribers
    let (topology, metrics) = (Topology(context.settings), SubscriberMetrics(context.metrics, names))
    outlets = names.map { SubscriberOutlet($0, context, topology, metrics) }
    for outlet in outlets {
      outlet.onLoss = { [weak self, unowned outlet] in self?.tellAgain($0, to: outlet) }
    }
  }

  /// Starts to connect.
  public func start() { for outlet in outlets { outlet.start() } }

  /// Closes the connections.
  public func stop() async { for outlet in outlets { await outlet.stop() } }

  /// Publishes an event to all subscribers. It is sent when this returns, so events keep their order.
  ///
  /// Only `EventOutlet` calls it: it knows which events nobody is told.
  func publish(_ event: Event) -> EventCopies {
    let copies = EventCopies(outlets.count)
    for outlet in outlets { send(event, to: outlet) { copies.end($0) } }
    return copies
  }

  /// Publishes an event to a subscriber that misses it. Returns when the broker has confirmed it.
  func retry(_ event: Event, to name: String) async throws(SubscriberOutlet.Failure) {
    guard let outlet = outlets.first(where: { $0.name == name }) else {
      throw SubscriberOutlet.Failure(cause: "the configuration does not name it", pause: .seconds(60))
    }
    try await withCheckedContinuation { waiter in
      outlet.publish(event, isOwed: true) { waiter.resume(returning: $0) }
    }
    .get()
  }

  /// Publishes an event to a subscriber.
  ///
  /// - Parameter then: called once with what the subscriber may miss.
  private func send(
    _ event: Event, to outlet: SubscriberOutlet, then: @escaping @LoopActor (OwedEvents.Missed?) -> Void
  ) {
    outlet.publish(event) { [id = event.id, name = outlet.name] in
      switch $0 {
      case .success: then(nil)
      case .failure(let failure):
        then(OwedEvents.Missed(eventId: id, subscriber: name, cause: failure.cause, pause: failure.pause))
      }
    }
  }

  /// Publishes events again that the broker may have lost together with a subscriber's connection. Without a connection
  /// the ledger owes them.
  private func tellAgain(_ events: [Event], to outlet: SubscriberOutlet) {
    for event in events {
      switch context.telling(of: event.publisherId, since: event.time) {
      case .kept: continue
      case .waits(let pause):
        let missed = OwedEvents.Missed(
          eventId: event.id, subscriber: outlet.name, cause: "its publisher may be in shadow mode", pause: pause)
        add(Debt(missed: [missed], isInOutbox: false))
      case .told:
        send(event, to: outlet) { [self] in
          if let missed = $0 { add(Debt(missed: [missed], isInOutbox: false)) }
        }
      }
    }
  }

  /// Owes an event to subscribers, and takes it out of the outbox. If the ledger does not take that, the outbox has it
  /// still, and a sweep publishes it to everybody again.
  ///
  /// - Parameter missed: all that is missed of one event.
  func owe(_ missed: [OwedEvents.Missed]) { add(Debt(missed: missed, isInOutbox: true)) }

  private func add(_ debt: Debt) {
    guard debts.count < Self.mostDebts else {
      if !debt.isInOutbox {
        context.log.error(
          "a subscriber may miss an event: too many could not be noted",
          ["subscriber": .string(debt.missed[0].subscriber), "eventId": .string(debt.missed[0].eventId.text)])
      }
      return
    }
    debts.append(debt)
    writeLater.plan()
  }

  private func writeDebts() {
    guard !isWriting, !debts.isEmpty else { return }
    isWriting = true
    let batch = Array(debts.prefix(Self.mostWritten))
    debts.removeFirst(batch.count)
    Task.immediate { @LoopActor in
      do {
        let (inOutbox, others) = (batch.filter(\.isInOutbox), batch.filter { !$0.isInOutbox })
        try await owed.owe(inOutbox.flatMap(\.missed), others: others.flatMap(\.missed))
      } catch {
        context.log.ledgerFailure("events that subscribers missed could not be noted yet", error)
        debts += batch.filter { !$0.isInOutbox }
        try? await EventLoop.sleep(for: .seconds(1))
      }
      isWriting = false
      writeDebts()
    }
  }
}
