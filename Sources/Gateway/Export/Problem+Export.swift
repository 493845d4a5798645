import Ledger

extension Problem {
  /// An export that cannot go on.
  static func refused(_ refusal: ExportRefused) -> Problem {
    switch refusal.cause {
    case .erased:
      gone(
        "EXP0001",
        "A customer was erased since the moment of your lines. Delete them, and begin without after: a line about an "
          + "erased person must not stay.")
    case .otherHistory:
      gone(
        "EXP0002",
        "The ledger was restored, or its standby was promoted, since the moment of your lines. Begin without after.")
    case .other: .internalError
    }
  }

  private static func gone(_ code: String, _ detail: String) -> Problem {
    Problem(410, code, "The export cannot go on", detail: detail)
  }
}
