import AMQP
import Configuration
import Domain
public import EventLoop
import Messaging
import Observability

/// Publishes events to one subscriber's exchange, over a connection of its own: a queue that does not keep up makes
/// RabbitMQ stop reading from the connection that publishes to it.
@LoopActor
public final class SubscriberOutlet {
  /// The subscriber's name.
  public let name: String
  private let publisher: AMQPPublisher
  private let exchange: String
  private let metrics: SubscriberMetrics
  private var pace = SubscriberPace()
  private let recent = RecentEvents()
  private var wasConnected = false
  /// Whether the next connection comes because a queue takes nothing. Its pace stays as it was.
  private var isReopening = false

  /// Why a subscriber misses an event.
  public struct Failure: Error {
    /// For a person.
    public let cause: String
    /// How long the event waits until it is tried again.
    public let pause: Duration
    /// Whether no queue behind the exchange is bound for the event.
    public var isUnwanted = false

    /// Creates a failure.
    public init(cause: String, pause: Duration, isUnwanted: Bool = false) {
      (self.cause, self.pause, self.isUnwanted) = (cause, pause, isUnwanted)
    }
  }

  init(_ name: String, _ context: RoleContext, _ topology: Topology, _ metrics: SubscriberMetrics) {
    self.name = name
    exchange = topology.events(for: name)
    self.metrics = metrics
    publisher = AMQPPublisher(
      { AMQPEndpoint(context.settings.rabbitmq) }, name: "countersign \(context.role) subscriber \(name)",
      onChange: context.observer(of: "subscriber \(name)"),
      declare: { try await topology.declareEvents(for: name, on: $0) })
    publisher.follow { [weak self] in self?.note($0) }
  }

  /// Tells when the connection is lost what the broker confirmed last and may have lost.
  let losses = Followers<[Event]>()

  func start() { publisher.start() }
  func stop() async { await publisher.stop() }

  private func note(_ change: AMQPSession.Change) {
    switch change {
    case .connected:
      wasConnected = true
      if !isReopening { pace.connected(at: .now) }
      isReopening = false
    case .blocked(false): pace.connected(at: .now)
    case .blocked(true): break
    case .reopening: isReopening = true
    case .lost:
      // Each failed attempt to connect is a loss, too. Only the first one can have lost anything.
      guard wasConnected else { return }
      wasConnected = false
      losses.tell(recent.take())
    }
  }

  /// Publishes an event. It is sent when this returns, and `then` is called when the broker has answered.
  ///
  /// While no queue is bound, the broker confirms what nobody gets. Somebody may be replacing the queue just now, or a
  /// wiped broker has lost it. So an event that is owed must reach a queue, and so must the first ones of a connection.
  ///
  /// - Parameters:
  ///   - isOwed: whether the subscriber misses the event already.
  ///   - then: called once, perhaps before this returns. With a ``Failure`` the subscriber may miss the event.
  func publish(_ event: Event, isOwed: Bool = false, then: @escaping @LoopActor (Result<Void, Failure>) -> Void) {
    guard publisher.isReady else { return then(.failure(miss("no connection, or an alarm of the broker", .zero))) }
    guard pace.mayPublish(at: .now) else { return then(.failure(miss("too many events wait for an answer", .zero))) }
    pace.begin()
    var message = EventMessage.message(event, exchange: exchange)
    // At the shared exchange perhaps nobody wants any event.
    let expectsQueue = name != EventSubscriber.shared && pace.expectsQueue(at: .now)
    message.isMandatory = isOwed || expectsQueue
    publisher.publish(message, timeout: SubscriberPace.patience) { [self] in then(note($0, of: event)) }
  }

  /// Notes the broker's answer to an event.
  private func note(_ answer: AMQPMessage.Answer, of event: Event) -> Result<Void, Failure> {
    let pause = SubscriberPace.pause(afterTries: 1)
    switch answer {
    case .success:
      pace.end(.confirmed, at: .now)
      metrics.published.count(name)
      recent.add(event)
      return .success(())
    case .failure(let error) where error.code == .unroutable:
      pace.end(.unrouted, at: .now)
      return .failure(Failure(cause: "no queue is bound for it", pause: pause, isUnwanted: true))
    case .failure(let error) where error.code == .refused:
      pace.end(.refused, at: .now)
      return .failure(miss("a queue refuses it: \(error.cause)", pause))
    case .failure(let error):
      pace.end(.none, at: .now)
      return .failure(miss("\(error)", pause))
    }
  }

  private func miss(_ cause: String, _ pause: Duration) -> Failure {
    metrics.missed.count(name)
    return Failure(cause: cause, pause: pause)
  }

  // MARK: Retries

  /// How many events of the ledger may be published again now.
  public var retries: Int { publisher.isReady ? pace.retries(at: .now) : 0 }

  /// Notes the end of a retry.
  ///
  /// - Parameter confirmed: how many events the broker has confirmed, or had no queue for.
  public func endRetry(confirmed: Int) { pace.endRetry(confirmed: confirmed, at: .now) }
}
