import AMQP
import Domain
import Redis

extension Problem {
  /// A `Correlation-Id` that is used already.
  static var idInUse: Problem {
    .invalidHeaders("Correlation-Id: names a synchronization of another purchase; use a new one")
  }

  /// A `Correlation-Id` of a synchronization whose result no longer holds.
  static var idOutdated: Problem {
    .invalidHeaders(
      "Correlation-Id: names a finalized synchronization whose result no longer holds, because the purchase was "
        + "released or transferred since, or the customer erased; use a new one")
  }

  /// A refused registration that left nothing behind.
  ///
  /// - Parameter isOnlyOne: whether the gateway itself made the synchronization's id. A `Correlation-Id` of the client
  ///   may belong to an earlier request too, whose job may still be on its way to the broker.
  static func nothingKept(_ cause: String, isOnlyOne: Bool) -> Problem {
    .unavailable(
      isOnlyOne
        ? "\(cause) Nothing was kept."
        : "\(cause) Nothing was kept of this request. An earlier one with the same Correlation-Id may take effect all "
          + "the same.")
  }

  /// A registration whose job the gateway could not publish.
  ///
  /// - Parameter isUndone: whether the gateway took the claim back. If not, a worker or the sweep goes on with it.
  static func notPublished(_ error: any Error, isUndone: Bool, of id: SynchronizationId, isOnlyOne: Bool) -> Problem {
    guard isUndone, let error = error as? AMQPError, error.provesAbsence else {
      return .unconfirmed("The message broker did not confirm the job.", of: id)
    }
    return .nothingKept("The message broker did not take the job.", isOnlyOne: isOnlyOne)
  }

  /// A registration of which nobody knows whether it was kept: it may run although the gateway refused it.
  ///
  /// - Parameter id: the synchronization's id. The client uses it to find out.
  static func unconfirmed(_ cause: String, of id: SynchronizationId) -> Problem {
    var problem = Problem.unavailable(
      "\(cause) The registration may take effect all the same. To settle it, repeat it with Correlation-Id: \(id).")
    problem.instance = statusPath(id)
    return problem
  }

  /// A transfer while the publisher's purchases are being moved here.
  static let migrating = Problem(
    422, "SK2C0005", "The migration is in progress",
    detail: "The publisher's file says that its purchases are being moved here. Transfers are possible afterwards.")

  /// A synchronization that must wait for another one of the same transaction.
  ///
  /// - Parameters:
  ///   - kind: what the request asks for.
  ///   - holder: what the other one does.
  ///   - instance: the status of the other one, if the caller may see it.
  static func locked(_ kind: Job.Kind, by holder: Job.Kind, instance: String?) -> Problem {
    let code =
      switch (kind, holder) {
      case (.registration, _): "SK2C0101"
      case (.transfer, .registration): "SK2C0103"
      case (.transfer, .transfer): "SK2C0104"
      }
    let locked = Problem.locked(instance: instance)
    return Problem(
      locked.status, code, locked.message, instance: locked.instance, retryAfter: locked.retryAfter)
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
