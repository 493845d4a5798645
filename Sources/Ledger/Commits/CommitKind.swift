/// Why work waits for a commit (``CommitTurns``).
public enum CommitKind: String, CaseIterable, Sendable {
  /// Somebody waits for it.
  case awaited
  /// It is a customer's of whom much comes at once (decision 0065).
  case crowded
  /// Nobody waits for it: bulk, and looks of timers.
  case background
}
