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
public final class EventSubscribers: RoleService {
  /// One for each subscriber.
  public let outlets: [SubscriberOutlet]
  private let context: RoleContext
  private let debts: SubscriberDebts
  private var phase = ServicePhase.new

  /// Creates the subscribers of the configuration. Nothing happens before ``start()``.
  public init(_ context: RoleContext, _ postgres: PostgresClient) {
    self.context = context
    let owed = OwedEvents(postgres)
    debts = SubscriberDebts(context.log) { try await owed.owe($0, others: $1) }
    let names = [EventSubscriber.shared] + context.settings.events.subscribers
    let (topology, metrics) = (Topology(context.settings), SubscriberMetrics(context.metrics, names))
    outlets = names.map { SubscriberOutlet($0, context, topology, metrics) }
    for outlet in outlets {
      outlet.losses.add { [weak self, unowned outlet] in self?.tellAgain($0, to: outlet) }
    }
  }

  /// Starts to connect.
  public func start() {
    guard phase.start() else { return }
    for outlet in outlets { outlet.start() }
  }

  /// Does nothing: events go out until the last one is published.
  public func close() { _ = phase.close() }

  /// Closes the connections. The ledger notes what the subscribers have not confirmed.
  public func stop(within grace: Duration) async {
    guard phase.stop() else { return }
    for outlet in outlets { await outlet.stop() }
    await debts.stop(within: grace)
  }

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
        debts.add([missed], isInOutbox: false)
      case .told:
        send(event, to: outlet) { [self] in
          if let missed = $0 { debts.add([missed], isInOutbox: false) }
        }
      }
    }
  }

  /// Owes an event to subscribers, and takes it out of the outbox. If the ledger does not take that, the outbox has it
  /// still, and a sweep publishes it to everybody again.
  ///
  /// - Parameter missed: all that is missed of one event.
  func owe(_ missed: [OwedEvents.Missed]) { debts.add(missed, isInOutbox: true) }
}
