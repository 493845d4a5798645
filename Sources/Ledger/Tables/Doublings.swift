/// Tells when a count reaches a number, and then each time that it has doubled. A state machine by value.
public struct Doublings: Equatable, Sendable {
  private var count = 0
  private var next: Int

  /// Creates a count of nothing.
  ///
  /// - Parameter first: the first number to tell; at least 1.
  public init(from first: Int) { next = first }

  /// Counts more.
  ///
  /// - Returns: whether the count has reached the next number.
  public mutating func add(_ more: Int) -> Bool {
    count += more
    guard count >= next else { return false }
    while next <= count { next *= 2 }
    return true
  }
}
