import AMQP
import Redis

extension Problem {
  /// A refused registration that left nothing behind.
  static func nothingKept(_ cause: String) -> Problem { .unavailable("\(cause) Nothing was kept.") }

  /// A registration with an unknown outcome: it may run although the gateway refused it.
  ///
  /// - Parameter id: the synchronization's id. The client uses it to settle the outcome.
  static func unknownOutcome(_ cause: String, of id: String) -> Problem {
    var problem = Problem.unavailable(
      "\(cause) The registration may take effect all the same. To settle it, repeat it with Correlation-Id: \(id).")
    problem.instance = statusPath(id)
    return problem
  }
}

extension AMQPError {
  /// Whether the message reached no queue, and never will.
  var provesAbsence: Bool {
    switch code {
    case .unreachable, .blocked, .refused, .invalid, .unroutable: true
    // The bytes may wait in a socket, even of a broker that is stopped now and continues later.
    case .timeout, .connectionLost, .channelClosed, .closed: false
    }
  }
}

extension RedisError {
  /// Whether the command changed nothing, and never will.
  var provesAbsence: Bool {
    switch code {
    case .unreachable, .reply: true
    case .timeout, .connectionLost: false
    }
  }
}
