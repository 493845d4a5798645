public import Domain

/// What the ledger says about a delivery before an attempt.
public enum DeliveryState: Sendable, Equatable {
  /// The attempt must be made.
  case open
  /// A notifier made this very attempt and recorded its end. The steps that follow from it may still be missing.
  case made(DeliveryAttempt.Result, nextAt: Int64?)
  /// Nothing remains to do: a later attempt of the round was made, or the event was delivered, by this round or another
  /// one. Since then nobody has asked for more by name.
  case superseded
  /// The endpoint is disabled. It gets nothing.
  case disabled
  /// The endpoint was deleted.
  case gone

  /// The facts that decide about a delivery, as the ledger has them.
  struct Facts {
    /// The number of the attempt that the message asks for.
    var attempt = 1
    /// The row of the delivery to this endpoint: the number of the next attempt and its time.
    var row: (attempt: Int, dueAt: Int64)?
    /// Whether no notifier has noted yet which endpoints get the event.
    var isUnseen = false
    /// The last attempt of the round in the log. Read only without a row.
    var logged: (number: Int, result: DeliveryAttempt.Result, nextAt: Int64?)?
    /// Whether any round has delivered the event to this endpoint. Read only without a row.
    var wasDelivered = false
    /// Whether the ledger has the event. Read only without a row.
    var isKnownEvent = false
    var hasEndpoint = true
    var isDisabled = false
  }

  /// Decides.
  ///
  /// A delivery has a row from the first look at its event until it ends. Without a row, a message may be an old copy.
  /// The log tells that: each end of a delivery is in it, and it also tells whether a notifier died between its last
  /// record and the step that follows.
  ///
  /// So a missing row alone ends no delivery. Without a row and without an end in the log, the attempt is made:
  ///
  /// - The worker that made the event had an older file of the publisher, without endpoints. So its commit owed the
  ///   event to nobody (``Facts/lacksRow``).
  /// - A notifier put the message into the queue of the dead and dropped the row, because its own files lacked the
  ///   publisher or the endpoint. Somebody has moved the message back.
  /// - The ledger may have been restored from a backup, and does not know the event.
  /// - The message is a copy that is older than the log. Events are kept no longer than the log, so this is rare.
  /// - The endpoint is newer than the first look, and the message is a copy for all endpoints.
  ///
  /// In the last two cases, the endpoint gets one delivery more. That is what at least once allows.
  init(_ facts: Facts) {
    guard let made = Self.before(facts) else {
      self = !facts.hasEndpoint ? .gone : facts.isDisabled ? .disabled : .open
      return
    }
    self = made
  }

  private static func before(_ facts: Facts) -> DeliveryState? {
    if let row = facts.row {
      switch row.attempt - facts.attempt {
      case ...0: return nil
      case 1: return .made(.failed, nextAt: row.dueAt)
      default: return .superseded
      }
    }
    if facts.isUnseen { return nil }
    if let logged = facts.logged {
      if logged.number > facts.attempt { return .superseded }
      if logged.number == facts.attempt {
        // A failed attempt without a row: another round has delivered the event since.
        if facts.isKnownEvent, logged.result == .failed { return .superseded }
        return .made(logged.result, nextAt: logged.nextAt)
      }
      // Only a failed attempt leads to this one.
      if logged.result != .failed { return .superseded }
    }
    return facts.wasDelivered ? .superseded : nil
  }
}

extension DeliveryState.Facts {
  /// Whether a delivery needs a row before its attempt: a later attempt and the sweep rely on it. The sweep
  /// cannot read an event that the ledger does not know.
  var lacksRow: Bool { row == nil && !isUnseen && isKnownEvent }
}
