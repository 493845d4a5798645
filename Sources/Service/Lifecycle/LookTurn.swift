/// Decides by value whether a chore looks now. One look runs at a time, and a hint is never lost.
struct LookTurn: Equatable {
  private(set) var isLooking = false
  /// Whether a hint has come that no look has followed yet.
  private(set) var isHinted = false

  /// Asks for a look.
  ///
  /// - Parameters:
  ///   - isHint: whether somebody knows that there is something to find. Then the next look follows at once.
  ///   - isReady: whether a look could find it now.
  /// - Returns: whether a look begins.
  mutating func ask(isHint: Bool = false, isReady: Bool) -> Bool {
    if isHint { isHinted = true }
    guard !isLooking, isReady else { return false }
    (isLooking, isHinted) = (true, false)
    return true
  }

  /// Notes the end of a look.
  ///
  /// - Returns: whether a hint came meanwhile.
  mutating func end() -> Bool {
    isLooking = false
    return isHinted
  }
}
