import Configuration
public import Domain
public import EventLoop
public import Ledger
import Messaging
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
  /// What is missed of each event. One commit notes all of an event, because it takes the event out of the outbox.
  private var missed: [[OwedEvents.Missed]] = []
  private var isWriting = false
  private lazy var writeLater = EndOfTurn { [weak self] in self?.writeMissed() }
  /// What the ledger does not take must not fill the memory. The outbox has the events still.
  private static let mostMissed = 10_000
  private static let mostWritten = 1000

  /// Creates the subscribers of the configuration. Nothing happens before ``start()``.
  public init(_ context: RoleContext, _ ledger: PostgresClient) {
    self.context = context
    owed = OwedEvents(ledger)
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

  /// An event on its way to all subscribers.
  @LoopActor
  public final class Copies {
    fileprivate var open = 0
    fileprivate var missed: [OwedEvents.Missed] = []
    fileprivate var waiter: CheckedContinuation<Void, Never>?

    /// Creates copies that have ended.
    ///
    /// - Parameter missed: who may miss the event.
    public init(missed: [OwedEvents.Missed] = []) { self.missed = missed }

    /// Returns who may miss the event, when each subscriber has it or misses it.
    public func ended() async -> [OwedEvents.Missed] {
      if open > 0 { await withCheckedContinuation { waiter = $0 } }
      return missed
    }

    fileprivate func end() {
      open -= 1
      if open == 0 { waiter?.resume() }
    }
  }

  /// Publishes an event to all subscribers. It is sent when this returns, so events keep their order.
  public func publish(_ event: Event) -> Copies {
    let copies = Copies()
    copies.open = outlets.count
    for outlet in outlets {
      Task.immediate { @LoopActor in
        do throws(SubscriberOutlet.Failure) {
          try await outlet.publish(event)
        } catch {
          copies.missed.append(
            OwedEvents.Missed(
              eventId: event.id, subscriber: outlet.name, cause: error.cause, pause: error.pause))
        }
        copies.end()
      }
    }
    return copies
  }

  /// Publishes events again that the broker may have lost together with a subscriber's connection. Without a connection
  /// the ledger owes them.
  private func tellAgain(_ events: [Event], to outlet: SubscriberOutlet) {
    for event in events {
      Task.immediate { @LoopActor in
        do throws(SubscriberOutlet.Failure) {
          try await outlet.publish(event)
        } catch {
          owe([
            OwedEvents.Missed(eventId: event.id, subscriber: outlet.name, cause: error.cause, pause: error.pause)
          ])
        }
      }
    }
  }

  /// Owes an event to subscribers, and takes it out of the outbox. If the ledger does not take that, the outbox has it
  /// still, and a sweep publishes it to everybody again.
  ///
  /// - Parameter missed: all that is missed of one event.
  public func owe(_ missed: [OwedEvents.Missed]) {
    guard self.missed.count < Self.mostMissed else { return }
    self.missed.append(missed)
    writeLater.plan()
  }

  private func writeMissed() {
    guard !isWriting, !missed.isEmpty else { return }
    isWriting = true
    let batch = Array(missed.prefix(Self.mostWritten))
    missed.removeFirst(batch.count)
    Task.immediate { @LoopActor in
      do {
        try await owed.owe(batch.flatMap(\.self))
      } catch {
        context.log.ledgerFailure("what subscribers miss could not be noted; the outbox has it", error)
      }
      isWriting = false
      writeMissed()
    }
  }
}
