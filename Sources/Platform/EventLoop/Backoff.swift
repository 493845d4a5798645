/// Delays between attempts to connect: from 50 ms, doubled up to 3 s.
///
/// Each delay is shortened at random, so that a fleet does not come back in step.
public struct Backoff: Sendable {
  private var ceiling: Duration = .milliseconds(50)

  /// Creates a backoff that begins with the shortest delay.
  public init() {}

  /// Returns the delay before the next attempt.
  public mutating func next() -> Duration {
    defer { ceiling = min(ceiling * 2, .seconds(3)) }
    return ceiling * Double.random(in: 0.5...1)
  }
}
