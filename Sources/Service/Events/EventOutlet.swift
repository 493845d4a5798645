import AMQP
public import Domain
public import EventLoop
public import Ledger
import Messaging
public import Observability

/// The one way out for events. It publishes them right after their commit: into the fleet's own queue, and to the
/// subscribers. Then it takes them out of the outbox.
///
/// A commit gives its events as ``Told``, which only the outlet takes (`ArchitectureTests`). ``RoleContext`` makes the
/// outlet of a role.
///
/// Nothing waits for it: an event that the own queue does not take stays in the outbox, and a sweep publishes it. What
/// a subscriber does not take, the ledger owes it from then on.
@LoopActor
public final class EventOutlet {
  private let broker: any MessageBroker
  private let queue: @LoopActor (Event) -> String
  private let subscribers: Subscribers
  private let log: Log
  private let tracer: Tracer?
  private let onConfirm: @LoopActor (Event) -> Void
  private let settle: @LoopActor (EventId) -> Void
  private let onReduced: @LoopActor (Event) -> Void
  private let telling: @LoopActor (Event) -> EventTelling
  private let onKept: @LoopActor (Event) -> Void
  /// Publishes again what a lost connection may have taken along.
  public let lost: LostEvents
  /// How many events wait for their confirm.
  public private(set) var underWay = 0

  /// A broker that confirms nothing must not fill the memory. More events than these stay in the outbox. A job of a
  /// publisher with every door tells five, so these are the events of 3,000 jobs in one moment (2 KB each).
  public static let most = 16_384

  /// The way to the subscribers.
  public struct Subscribers {
    /// Publishes an event to all of them.
    let publish: @LoopActor (Event) -> EventCopies
    /// Notes what they miss, and takes the events out of the outbox.
    let owe: @LoopActor ([OwedEvents.Missed]) -> Void
    /// Publishes an event to the one that misses it, by its name.
    let retry: Retry

    /// Publishes an event to one subscriber.
    public typealias Retry = @LoopActor (Event, String) async throws(SubscriberOutlet.Failure) -> Void

    /// Creates a way. Without arguments it leads nowhere.
    public init(
      publish: @escaping @LoopActor (Event) -> EventCopies = { _ in EventCopies() },
      owe: @escaping @LoopActor ([OwedEvents.Missed]) -> Void = { _ in },
      retry: @escaping Retry = { _, _ throws(SubscriberOutlet.Failure) in }
    ) {
      self.publish = publish
      self.owe = owe
      self.retry = retry
    }

    /// Creates the way to the subscribers of a role.
    public init(_ subscribers: EventSubscribers) {
      self.init(
        publish: { subscribers.publish($0) }, owe: { subscribers.owe($0) },
        retry: { event, name throws(SubscriberOutlet.Failure) in try await subscribers.retry(event, to: name) })
    }
  }

  /// Creates an outlet.
  ///
  /// - Parameters:
  ///   - queue: the fleet's own for an event.
  ///   - onConfirm: called when the own queue has an event.
  ///   - settle: takes an event out of the outbox, by its id.
  ///   - onReduced: called for an event that tells less, because it would be too long.
  ///   - telling: what becomes of an event: nobody is told one of a publisher in `Publisher.Mode.shadow`. It is asked
  ///     each time that the event would be published.
  ///   - onKept: called for an event that nobody is told.
  public init(
    _ broker: any MessageBroker, queue: @escaping @LoopActor (Event) -> String, _ subscribers: Subscribers, _ log: Log,
    _ tracer: Tracer? = nil,
    onConfirm: @escaping @LoopActor (Event) -> Void = { _ in }, settle: @escaping @LoopActor (EventId) -> Void,
    onReduced: @escaping @LoopActor (Event) -> Void,
    telling: @escaping @LoopActor (Event) -> EventTelling = { _ in .told },
    onKept: @escaping @LoopActor (Event) -> Void = { _ in }
  ) {
    self.broker = broker
    self.queue = queue
    self.subscribers = subscribers
    self.log = log
    self.tracer = tracer
    self.onConfirm = onConfirm
    self.settle = settle
    self.onReduced = onReduced
    self.telling = telling
    self.onKept = onKept
    lost = LostEvents(broker, queue: queue, log)
  }

  /// Publishes the events of a commit in their order.
  ///
  /// - Parameter whenConfirmed: called when the own queue has the first one.
  public func publish(_ told: consuming Told, whenConfirmed: @escaping @LoopActor () -> Void = {}) {
    publish(told.takeEvents(), isLate: false, whenConfirmed)
  }

  /// Publishes events that a sweep has found. Subscribers may have them already. So the own queue comes first: while it
  /// takes nothing, each sweep would tell everybody again.
  public func publishLate(_ told: consuming Told) { publish(told.takeEvents(), isLate: true) {} }

  /// Publishes an event again to a subscriber that misses it. Returns when the broker has confirmed it, or at once if
  /// it is not told.
  ///
  /// - Throws: `SubscriberOutlet.Failure`: the subscriber still misses the event.
  public func publishOwed(
    _ event: Event, to subscriber: String
  ) async throws(SubscriberOutlet.Failure) -> EventTelling {
    let answer = telling(event)
    switch answer {
    case .told: try await subscribers.retry(event, subscriber)
    case .waits: break
    case .kept: onKept(event)
    }
    return answer
  }

  private func publish(_ events: [Event], isLate: Bool, _ whenConfirmed: @escaping @LoopActor () -> Void) {
    var first: (@LoopActor () -> Void)? = whenConfirmed
    var isAnyTold = events.isEmpty
    for event in events {
      switch telling(event) {
      case .told: break
      // A late event stays in the outbox, and the next sweep finds it.
      case .waits where isLate: continue
      // One that waits stays in the outbox, if its commit has put it there; then the sweep counts it once more.
      case .waits, .kept:
        onKept(event)
        // A commit in shadow mode writes no row of the outbox. A late event may be older than the mode.
        if isLate { settle(event.id) }
        continue
      }
      isAnyTold = true
      if event.isReduced {
        onReduced(event)
        log.warning(
          "an event was shortened because it was too long",
          ["eventId": .string(event.id.text), "topic": .string(event.topic.text)])
      }
      guard underWay < Self.most else { continue }
      underWay += 1
      let note = first
      first = nil
      publish(event, isLate: isLate, note)
    }
    // Nobody waits for a confirm of what nobody is told.
    if !isAnyTold { whenConfirmed() }
  }

  /// Publishes an event. It is sent when this returns, so events keep their order.
  ///
  /// No task waits for the answers: there may be thousands of events without one, and a task needs some kilobytes.
  private func publish(_ event: Event, isLate: Bool, _ whenConfirmed: (@LoopActor () -> Void)?) {
    let early = isLate ? nil : subscribers.publish(event)
    let start = ContinuousClock.now
    broker.publish(EventMessage.message(event, queue: queue(event))) { [self] answer in
      switch answer {
      case .success:
        trace(event, since: start)
        lost.recent.add(event)
        onConfirm(event)
        whenConfirmed?()
        (early ?? subscribers.publish(event)).whenEnded { [self] in end(event.id, $0) }
      case .failure(let error):
        trace(event, since: start, failure: "\(error)")
        log.warning("an event stays in the outbox", ["eventId": .string(event.id.text), "cause": .failure(error)])
        underWay -= 1
      }
    }
  }

  /// Takes an event out of the outbox, once the own queue has it, and each subscriber has it or is owed it.
  private func end(_ id: EventId, _ missed: [OwedEvents.Missed]) {
    if missed.isEmpty { settle(id) } else { subscribers.owe(missed) }
    underWay -= 1
  }

  private func trace(_ event: Event, since start: ContinuousClock.Instant, failure: @autoclosure () -> String? = nil) {
    guard let tracer, tracer.isOn else { return }
    tracer.record(
      "publish \(event.topic)", .producer, within: event.traceparent.flatMap { TraceParent($0) }, since: start,
      [Span.Attribute("countersign.event_id", event.id.text)], failure: failure())
  }
}

extension EventOutlet {
  /// The metric of events that tell less than they should.
  ///
  /// - Parameter topics: those of this build.
  public static func reducedEvents(_ metrics: Metrics, _ topics: [EventTopic]) -> @LoopActor (Event) -> Void {
    let counter = metrics.counter(
      "countersign_reduced_events_total", "Events that were shortened, because they would be too long.",
      labels: ["topic"],
      known: topics.map { [$0.text] })
    return { counter.count($0.topic.text) }
  }
}
