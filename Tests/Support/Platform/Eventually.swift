import EventLoop

/// A condition that did not come true in time.
public struct NeverHappened: Error, Sendable, CustomStringConvertible {
  public let description: String

  /// Creates an error.
  public init(description: String) { self.description = description }
}

/// Waits until a condition holds, and throws if it does not hold within the limit.
///
/// For conditions that a test can only poll, such as another process's readiness. If a callback can tell, await it
/// instead. The limit only ends a vain wait: it must be longer than anything takes on a busy machine.
@LoopActor
public func eventually(
  _ what: String, within limit: Duration = .seconds(120), _ condition: @LoopActor () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + limit
  while try await !condition() {
    guard ContinuousClock.now < deadline else { throw NeverHappened(description: "\(what) did not happen in \(limit)") }
    try await EventLoop.sleep(for: .milliseconds(20))
  }
}
