import EventLoop

extension Usage {
  /// Waits until a job is due at a steady rate that began with this measurement; returns when the job was due.
  ///
  /// - Parameter perSecond: 0 runs as fast as possible: every job is due now.
  @LoopActor
  func due(_ number: Int, perSecond: Double) async throws -> ContinuousClock.Instant {
    guard perSecond > 0 else { return .now }
    let due = wall + .seconds(Double(number) / perSecond)
    let rest = due - .now
    if rest > .zero { try await EventLoop.sleep(for: rest) }
    return due
  }
}
