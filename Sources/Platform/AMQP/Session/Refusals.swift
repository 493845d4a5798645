/// Notices a channel on which the broker refuses everything. A state machine by value.
///
/// RabbitMQ 3.10 registers a channel at the leader of a quorum queue with the first message. If that leader has just
/// died, it refuses this message and all later ones, on this channel only. A new channel finds the new leader.
///
/// A queue that is full refuses, too. So the channel is opened anew seldom.
struct Refusals {
  /// For so long the broker must refuse everything.
  static let patience = Duration.seconds(3)
  /// The shortest time from one opening to the next.
  static let pause = Duration.seconds(30)

  /// Since when each exchange, or queue behind the default exchange, has refused everything.
  private var since: [String: ContinuousClock.Instant] = [:]
  private var openedAt: ContinuousClock.Instant?

  /// Notes the broker's answer to a message.
  ///
  /// - Parameter target: the exchange, or the queue behind the default exchange.
  /// - Returns: whether the channel should be opened anew.
  mutating func note(isRefused: Bool, _ target: String, at now: ContinuousClock.Instant) -> Bool {
    guard isRefused else {
      since[target] = nil
      return false
    }
    guard let first = since[target] else {
      since[target] = now
      return false
    }
    guard now - first >= Self.patience, openedAt.map({ now - $0 >= Self.pause }) ?? true else { return false }
    since.removeAll()
    openedAt = now
    return true
  }
}

extension AMQPMessage {
  /// What decides which queues get it.
  var target: String { exchange.isEmpty ? "queue " + routingKey : "exchange " + exchange }
}
