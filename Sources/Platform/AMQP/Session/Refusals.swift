/// Notices a connection over which a queue takes nothing any more: the broker refuses each message, or gives no answer.
/// A state machine by value.
///
/// RabbitMQ 3.10 registers a channel at the leader of a quorum queue with the first message. If that leader has just
/// died, it refuses this message and all later ones, on this channel only. If a message gets lost on its way to the
/// leader, the later ones on this channel get no confirm. The channel of a new connection finds the new leader.
///
/// A queue that is full refuses, too, and a new connection ends what is under way. So the pauses grow.
struct Refusals {
  /// For so long the broker must take nothing.
  static let patience = Duration.seconds(3)
  /// The shortest time from one opening to the next. It doubles each time.
  static let shortestPause = Duration.seconds(5)
  /// The longest time from one opening to the next.
  static let longestPause = Duration.seconds(60)

  /// Since when each exchange, or queue behind the default exchange, takes nothing.
  private var since: [String: ContinuousClock.Instant] = [:]
  /// The openings because of one target, since it took something.
  private var openings: (target: String, count: Int, last: ContinuousClock.Instant)?

  /// Notes what became of a message.
  ///
  /// - Parameters:
  ///   - isTaken: whether the broker has confirmed it. It has not if it refused it, or gave no answer in time.
  ///   - target: the exchange, or the queue behind the default exchange.
  /// - Returns: whether the connection should be opened anew.
  mutating func note(isTaken: Bool, _ target: String, at now: ContinuousClock.Instant) -> Bool {
    guard !isTaken else {
      since[target] = nil
      if openings?.target == target { openings = nil }
      return false
    }
    guard let first = since[target] else {
      since[target] = now
      return false
    }
    guard now - first >= Self.patience else { return false }
    if let openings {
      let pause = min(Self.longestPause, Self.shortestPause * Double(1 << min(openings.count - 1, 10)))
      guard now - openings.last >= pause else { return false }
    }
    since.removeAll()
    openings = (target, (openings?.count ?? 0) + 1, now)
    return true
  }
}

extension AMQPMessage {
  /// What decides which queues get it.
  var target: String { exchange.isEmpty ? "queue " + routingKey : "exchange " + exchange }
}
