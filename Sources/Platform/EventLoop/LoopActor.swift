/// The actor of everything that runs on the process's ``EventLoop``.
///
/// A type that holds a C handle is isolated to it, so two drivers call each other without a suspension and no C
/// pointer ever needs to be `Sendable`.
@globalActor
public actor LoopActor {
  /// The actor itself; it holds no state.
  public static let shared = LoopActor()

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    EventLoop.process.asUnownedSerialExecutor()
  }

  /// Runs `body` at once when the caller already is on the loop, as every C callback is, and traps otherwise.
  public static func assumeIsolated<Value>(_ body: @LoopActor () throws -> Value) rethrows -> Value {
    EventLoop.process.checkIsolated()
    // The cast only forgets the isolation that was checked in the line above. `MainActor.assumeIsolated` in the
    // standard library is written the same way.
    return try withoutActuallyEscaping(body) { escaping in
      try unsafeBitCast(escaping, to: (() throws -> Value).self)()
    }
  }

  /// Does the same for a callback that comes several times for each job: a body that captures nothing, since it gets what it
  /// needs as its argument, is no allocation. The argument is not checked: a pointer in it is good during the call only.
  @inlinable @inline(__always)
  public static func assumeIsolated<Argument, Value>(
    with argument: Argument, _ body: @escaping @LoopActor (Argument) -> Value
  ) -> Value {
    EventLoop.process.checkIsolated()
    // The cast forgets no more than the one above.
    return unsafeBitCast(body, to: ((Argument) -> Value).self)(argument)
  }
}
