import AMQP
import Redis

extension Problem {
  /// A registration that is refused and has left nothing behind.
  static func nothingKept(_ cause: String) -> Problem { .unavailable("\(cause) Nothing was kept.") }

  /// A registration whose outcome is not known: it may run although it was refused.
  ///
  /// - Parameter id: the synchronization's id, by which the client settles it.
  static func unknownOutcome(_ cause: String, of id: String) -> Problem {
    var problem = Problem.unavailable(
      "\(cause) The registration may take effect all the same. To settle it, repeat it with Correlation-Id: \(id).")
    problem.instance = statusPath(id)
    return problem
  }
}

extension AMQPError {
  /// Whether the message has not reached a queue, and never will.
  var provesAbsence: Bool {
    switch code {
    case .unreachable, .blocked, .refused, .invalid, .unroutable: true
    // The bytes may wait in a socket, also of a broker that is stopped now and goes on later.
    case .timeout, .connectionLost, .channelClosed, .closed: false
    }
  }
}

extension RedisError {
  /// Whether the command has changed nothing, and never will.
  var provesAbsence: Bool {
    switch code {
    case .unreachable, .reply: true
    case .timeout, .connectionLost: false
    }
  }
}
