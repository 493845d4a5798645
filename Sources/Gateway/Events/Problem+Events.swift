import Domain

extension Problem {
  /// A reader of events that cannot go on from its cursor.
  static func unusable(_ refusal: EventCursorRefusal) -> Problem {
    switch refusal {
    case .deleted:
      gone(
        "EVT0001",
        "Events after this cursor were deleted (notifier.logRetentionSeconds). Begin without after, and read from the "
          + "API again what you keep.")
    case .otherHistory:
      gone(
        "EVT0002",
        "The cursor is of another publisher, or of the ledger before a restore or the promotion of a standby. Begin "
          + "with since, some minutes before the last event that you have, and drop events whose id you know.")
    case .ledgerNotReady:
      unavailable("The ledger was restored into another server. Run countersign migrate; then events can be read.")
    }
  }

  private static func gone(_ code: String, _ detail: String) -> Problem {
    Problem(410, code, "The cursor can no longer be used", detail: detail)
  }
}
