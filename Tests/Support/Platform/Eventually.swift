public import EventLoop

/// Something that a test waited for and that did not come in time.
public struct NeverHappened: Error, Sendable, CustomStringConvertible {
  public let description: String

  /// Creates an error.
  public init(description: String) { self.description = description }

  /// Creates the error of a wait that was in vain.
  public init(_ what: String, within limit: Duration) { description = "\(what) did not happen in \(limit)" }
}

extension Duration {
  /// How long a test waits for one thing. The limit only ends a vain wait: it is longer than anything takes on a busy
  /// machine.
  public static var patience: Duration { .seconds(120) }
}

/// Waits until a condition holds, and throws if it does not hold within the limit.
///
/// For conditions that a test can only poll, such as another process's readiness. If a callback can tell, await it
/// instead, in a ``Mailbox`` or with a signal.
@LoopActor
public func eventually(
  _ what: String, within limit: Duration = .patience, every pause: Duration = .milliseconds(20),
  _ condition: @LoopActor () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + limit
  while try await !condition() {
    guard ContinuousClock.now < deadline else { throw NeverHappened(what, within: limit) }
    try await EventLoop.sleep(for: pause)
  }
}

/// Waits until nothing is missing. A step is a list that is shorter than every one before, and each step has the limit.
///
/// For work of many pieces, which may take longer as a whole than a test waits for one thing.
///
/// - Parameters:
///   - limit: of each step.
///   - pause: how long it waits before it asks again.
///   - missing: what has not come yet.
/// - Throws: ``NeverHappened`` with some of what is missing, if no step comes within the limit.
@LoopActor
public func untilNothingIsMissing(
  _ what: String, within limit: Duration = .patience, every pause: Duration = .milliseconds(20),
  _ missing: @LoopActor () async throws -> [String]
) async throws {
  var (least, deadline) = (Int.max, ContinuousClock.now + limit)
  while true {
    let rest = try await missing()
    if rest.isEmpty { return }
    if rest.count < least { (least, deadline) = (rest.count, .now + limit) }
    guard ContinuousClock.now < deadline else {
      throw NeverHappened(
        description: "\(what): nothing more came in \(limit), and \(rest.count) are missing, such as "
          + rest.prefix(3).joined(separator: ", "))
    }
    try await EventLoop.sleep(for: pause)
  }
}

extension LoopSignal {
  /// Waits until a condition holds that whoever changes it tells with ``LoopSignal/notify()``.
  ///
  /// - Throws: ``NeverHappened`` if it does not hold within the limit.
  public func wait(
    for what: String, within limit: Duration = .patience, until isMet: @LoopActor () -> Bool
  ) async throws {
    let deadline = ContinuousClock.now + limit
    while !isMet() {
      // A cancelled task would come back at once, again and again.
      try Task.checkCancellation()
      let rest = deadline - .now
      guard rest > .zero else { throw NeverHappened(what, within: limit) }
      await wait(atMost: rest)
    }
  }
}
