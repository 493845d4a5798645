import EventLoop
import Observability

extension RoleContext {
  /// The chore that corrects the role's clock by Redis' clock.
  ///
  /// A worker learns the time with each lease. A gateway dates registrations and erasures, and runs no job.
  ///
  /// - Parameter time: asks Redis for its time, in milliseconds since 1970.
  public func clockChore(_ time: @escaping @LoopActor () async throws -> Int64) -> Chore {
    Chore(every: .seconds(10), after: .zero, .dropped) { [clock, log] in
      let start = ContinuousClock.now
      // A late answer carries an old time. Without an answer, the last correction counts.
      guard let now = try? await time(), ContinuousClock.now - start < .seconds(1),
        let correction = clock.learn(now)
      else { return }
      log.warning("the clock was set to Redis' time", ["correctionSeconds": .double(Double(correction) / 1000)])
    }
  }
}
