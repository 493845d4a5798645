import EventLoop

extension Usage {
  /// Waits until a job is due at a steady rate that began here; returns when that was.
  ///
  /// - Parameter perSecond: 0 for as fast as it goes: due now.
  @LoopActor
  func due(_ number: Int, perSecond: Double) async throws -> ContinuousClock.Instant {
    guard perSecond > 0 else { return .now }
    let due = wall + .seconds(Double(number) / perSecond)
    let rest = due - .now
    if rest > .zero { try await EventLoop.sleep(for: rest) }
    return due
  }
}
