import EventLoop

/// Decides by value when a turn that does not end is told: once, when it has lasted for longer than the limit.
struct StallNotice {
  /// A turn that lasts longer has stopped the process as others see it.
  static let limit = Duration.seconds(1)

  private var told: UInt64?

  /// Looks at the turn under way.
  ///
  /// - Parameter now: the clock of `UnfinishedTurn`.
  /// - Returns: how long the turn lasts by now if this must be reported; `nil` otherwise.
  mutating func look(at turn: UnfinishedTurn?, now: UInt64) -> Duration? {
    guard let turn, turn.began != told, now > turn.began else { return nil }
    let lasts = Duration.nanoseconds(Int64(clamping: now - turn.began))
    guard lasts >= Self.limit else { return nil }
    told = turn.began
    return lasts
  }
}
