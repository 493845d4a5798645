public import AMQP
public import Domain
public import EventLoop

/// The exchanges and queues of the fleet. Their arguments are explicit, since brokers from 3.10 to 4.x have other
/// defaults. Only delay queues have no delivery limit: nobody consumes them (decision 0045).
///
/// Every role declares all of it on every connection: the first role creates it, and a wiped broker gets it back. Only
/// the queue of a gateway is that gateway's own.
public struct Topology: Sendable {
  /// The first part of all names.
  public let prefix: String
  /// The delays of the queues in which jobs and deliveries wait.
  public let delays: [Duration]
  /// On how many nodes RabbitMQ puts a new queue; `nil` leaves it to RabbitMQ.
  private let quorumInitialGroupSize: Int?

  /// Creates the names for a configured prefix.
  public init(prefix: String, delays: [Duration] = DelayTiers.all, quorumInitialGroupSize: Int? = nil) {
    self.prefix = prefix
    self.delays = delays
    self.quorumInitialGroupSize = quorumInitialGroupSize
  }

  /// Jobs wait here for a worker.
  public var jobs: String { "\(prefix).jobs" }
  /// The jobs of a lane wait here for a worker. Bulk has a queue of its own: nobody's job stands behind it.
  public func jobs(_ lane: JobLane) -> String {
    switch lane {
    case .usual: jobs
    case .bulk: "\(jobs).bulk"
    }
  }
  /// Jobs that no worker can run, each with its reason.
  public var deadJobs: String { "\(prefix).jobs.dead" }
  /// Notifications of Apple's wait here for a worker. The ledger has them, too.
  public var notifications: String { "\(prefix).notifications" }
  /// Each connection that consumes publishes here in turns, and keeps the last message only: `AMQPProbe`.
  public var probe: String { "\(prefix).probe" }
  /// The topic exchange that services bind their queues to, if they share their pace.
  public var events: String { "\(prefix).events" }
  /// The topic exchange of one subscriber. ``EventSubscriber/shared`` is the subscriber behind ``events``.
  public func events(for subscriber: String) -> String {
    subscriber.utf8.elementsEqual(EventSubscriber.shared.utf8) ? events : "\(events).\(subscriber)"
  }
  /// Events wait here for a notifier.
  public var deliveries: String { "\(prefix).notifier" }
  /// Events that many others of their publisher come along with wait here for a notifier: few never stand behind many.
  public func deliveries(_ crowd: EventCrowd) -> String {
    switch crowd {
    case .few: deliveries
    case .burst, .flood: "\(deliveries).\(crowd.rawValue)"
    }
  }
  /// Deliveries that a notifier has given up, each with its reason.
  public var deadDeliveries: String { "\(prefix).notifier.dead" }

  /// The queue in which a job of a lane waits for one of ``delays``.
  public func jobDelay(_ tier: Duration, _ lane: JobLane = .usual) -> String {
    "\(jobs(lane)).delay.\(tier.wholeMilliseconds)"
  }
  /// The queue in which a delivery waits for one of ``delays``.
  public func deliveryDelay(_ tier: Duration) -> String { "\(deliveries).delay.\(tier.wholeMilliseconds)" }

  /// The queue of one gateway: workers tell it which synchronizations are finalized.
  public func replies(to gateway: String) -> String { "\(prefix).gateway.\(gateway)" }

  /// Every durable queue.
  public var queues: [String] { declarations.map(\.queue) }

  /// Every durable queue with its arguments. Those behind which others stand come first.
  private var declarations: [(queue: String, arguments: [String: AMQPValue])] {
    [
      (deadJobs, dead), (deadDeliveries, dead), (notifications, hints), (probe, last),
    ] + EventCrowd.allCases.map { (deliveries($0), work(deadLettersTo: deadDeliveries)) }
      + JobLane.allCases.map { (jobs($0), work(deadLettersTo: deadJobs)) }
      + JobLane.allCases.flatMap { lane in delays.map { (jobDelay($0, lane), delay($0, then: jobs(lane))) } }
      + delays.map { (deliveryDelay($0), delay($0, then: deliveries)) }
  }

  /// Declares everything. Without the right to configure, it looks whether everything is there.
  ///
  /// A queue of the dead that an earlier version has declared has no length, and no declaration can give it one. It
  /// works as it is; ``renewDeadQueues(over:tell:)`` makes it anew.
  ///
  /// - Returns: the queues of the dead that have no length.
  /// - Throws: `AMQPError` with code `channelClosed` when something exists with other arguments, or when something is
  ///   missing that the account may not declare. It names all that is missing.
  @LoopActor
  @discardableResult
  public func declare(on channel: AMQPChannel) async throws -> [String] {
    try await declareOrFind(on: channel, exchange: events, declarations)
  }

  /// Declares the exchange of a subscriber, or looks for it.
  ///
  /// - Throws: as ``declare(on:)``.
  @LoopActor
  public func declareEvents(for subscriber: String, on channel: AMQPChannel) async throws {
    _ = try await declareOrFind(on: channel, exchange: events(for: subscriber), [])
  }

  /// A refusal ends its channel. So the channel that the caller goes on with declares nothing itself.
  @LoopActor
  private func declareOrFind(
    on channel: AMQPChannel, exchange: String, _ queues: [(queue: String, arguments: [String: AMQPValue])]
  ) async throws -> [String] {
    let refusal: AMQPError
    do {
      var trial = try await channel.sibling()
      var endless: [String] = []
      try await trial.declareExchange(exchange, type: "topic")
      for (queue, arguments) in queues {
        do {
          try await trial.declareQueue(queue, arguments: arguments)
        } catch let error as AMQPError where error.isOfOtherForm && deadQueues.contains(queue) {
          trial = try await channel.sibling()
          try await trial.declareQueue(queue, arguments: quorum)
          endless.append(queue)
        }
      }
      await trial.close()
      return endless
    } catch let error as AMQPError where error.isAccessRefused {
      refusal = error
    }
    var missing: [String] = []
    func find(_ name: String, _ look: @LoopActor (AMQPChannel) async throws -> Void) async throws {
      do {
        let trial = try await channel.sibling()
        try await look(trial)
        await trial.close()
      } catch let error as AMQPError where error.isNotFound {
        missing.append(name)
      }
    }
    try await find(exchange) { try await $0.declareExchange(exchange, type: "topic", passive: true) }
    for (queue, _) in queues { try await find(queue) { try await $0.declareQueue(queue, passive: true) } }
    guard missing.isEmpty else {
      throw AMQPError(
        .channelClosed, operation: refusal.operation, target: refusal.target,
        cause: "the account may not configure, and these are missing: \(missing.joined(separator: ", ")). "
          + "Run countersign declare with an account that may")
    }
    return []
  }

  /// Declares the queue of a gateway. It ends with the gateway's connection, and nothing in it is worth more than that.
  ///
  /// - Throws: `AMQPError` with code `channelClosed` while an earlier connection of the gateway still has it.
  @LoopActor
  public func declareReplies(to gateway: String, on channel: AMQPChannel) async throws {
    try await channel.declareQueue(
      replies(to: gateway),
      arguments: ["x-queue-type": "classic", "x-max-length": 100_000, "x-overflow": "drop-head"], isExclusive: true)
  }

  /// A queue whose messages may get lost, and whose oldest ones give way.
  private var hints: [String: AMQPValue] {
    quorum.merging(["x-max-length": 100_000, "x-overflow": "drop-head", "x-delivery-limit": 50]) { $1 }
  }

  /// A queue that keeps the newest message.
  private var last: [String: AMQPValue] {
    quorum.merging(["x-max-length": 1, "x-overflow": "drop-head", "x-delivery-limit": 50]) { $1 }
  }

  /// The most messages of a queue of the dead.
  public static let mostDead = 100_000

  var deadQueues: [String] { [deadJobs, deadDeliveries] }

  /// A queue for a person. A full one must not hold up who buries, so its oldest messages give way: what decides is in
  /// the ledger. Peeking returns messages, and RabbitMQ 4 drops one after 20 returns unless the queue says more.
  var dead: [String: AMQPValue] {
    quorum.merging([
      "x-max-length": .int(Int64(Self.mostDead)), "x-overflow": "drop-head", "x-delivery-limit": 1_000_000,
    ]) { $1 }
  }

  /// The form that a queue of the dead had before it got a length.
  var quorum: [String: AMQPValue] {
    var arguments: [String: AMQPValue] = ["x-queue-type": "quorum"]
    arguments["x-quorum-initial-group-size"] = quorumInitialGroupSize.map { .int(Int64($0)) }
    return arguments
  }

  /// A queue of work.
  ///
  /// The delivery limit only stops messages that kill their consumers again and again. A header of ours counts the
  /// retries, since brokers count deliveries in three different ways.
  private func work(deadLettersTo dead: String) -> [String: AMQPValue] {
    quorum.merging(Self.deadLetter(to: dead)) { $1 }.merging(["x-delivery-limit": 50]) { $1 }
  }

  /// A queue that holds every message for one time, and then passes it on.
  ///
  /// Each delay has its own queue: a broker looks at a message's own time to live only when the message reaches the
  /// head.
  private func delay(_ time: Duration, then queue: String) -> [String: AMQPValue] {
    quorum.merging(Self.deadLetter(to: queue)) { $1 }
      .merging(["x-message-ttl": .int(Int64(time.wholeMilliseconds))]) { $1 }
  }

  /// At-least-once dead lettering through the default exchange, which needs `reject-publish`.
  private static func deadLetter(to queue: String) -> [String: AMQPValue] {
    [
      "x-dead-letter-exchange": "", "x-dead-letter-routing-key": .string(queue),
      "x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish", "x-max-length": 10_000_000,
    ]
  }
}
