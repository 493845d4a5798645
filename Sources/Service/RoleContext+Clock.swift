import EventLoop
import Observability

extension RoleContext {
  /// Corrects the role's clock by Redis' clock again and again, until the task is cancelled.
  ///
  /// A worker learns the time with each lease. A gateway dates registrations and erasures, and runs no job.
  ///
  /// - Parameter time: asks Redis for its time, in milliseconds since 1970.
  @LoopActor
  public func followClock(
    every interval: Duration = .seconds(10), _ time: @escaping @LoopActor () async throws -> Int64
  ) -> Task<Void, Never> {
    Task { @LoopActor in
      while !Task.isCancelled {
        let start = ContinuousClock.now
        // A late answer carries an old time. Without an answer, the last correction counts.
        if let now = try? await time(), ContinuousClock.now - start < .seconds(1), let correction = clock.learn(now) {
          log.warning("the clock was set by Redis'", ["correctionSeconds": .double(Double(correction) / 1000)])
        }
        try? await EventLoop.sleep(for: interval)
      }
    }
  }
}
