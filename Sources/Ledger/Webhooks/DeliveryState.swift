public import Domain

/// What the ledger says about a delivery before an attempt.
public enum DeliveryState: Sendable, Equatable {
  /// The attempt is to be made.
  case open
  /// A notifier made this very attempt and recorded its end. The steps that follow from it may still be missing.
  case made(DeliveryAttempt.Outcome, nextAt: Int64?)
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
    /// The last attempt of the round in the log, from the message's own number on. Read only without a row.
    var logged: (number: Int, outcome: DeliveryAttempt.Outcome, nextAt: Int64?)?
    /// Whether the ledger has the event. Read only without a row.
    var isKnownEvent = false
    var hasEndpoint = true
    var isDisabled = false
  }

  /// Decides.
  ///
  /// A delivery has a row from the first look at its event until it ends. Without a row, a message may be an old copy.
  /// Then the log tells whether a notifier died between its last record and the step that follows. An event that the
  /// ledger does not know at all is delivered: the ledger may have been restored from a backup.
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
      // A failed attempt without a row: another round has delivered the event since.
      if logged.number > facts.attempt || facts.isKnownEvent && logged.outcome == .failed { return .superseded }
      return .made(logged.outcome, nextAt: logged.nextAt)
    }
    return facts.isKnownEvent ? .superseded : nil
  }
}
