/// The actor of everything that runs on the process's ``EventLoop``.
///
/// A type that holds a C handle is isolated to this actor. So two drivers call each other without a suspension, and no
/// C pointer ever needs to be `Sendable`.
@globalActor
public actor LoopActor {
  /// The actor itself; it holds no state.
  public static let shared = LoopActor()

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    EventLoop.process.asUnownedSerialExecutor()
  }

  /// Runs `body` at once if the caller is already on the loop, as every C callback is. Otherwise it traps.
  public static func assumeIsolated<Value>(_ body: @LoopActor () throws -> Value) rethrows -> Value {
    EventLoop.process.checkIsolated()
    // The cast only forgets the isolation that the line above has checked. `MainActor.assumeIsolated` in the standard
    // library is written the same way.
    return try withoutActuallyEscaping(body) { escaping in
      try unsafeBitCast(escaping, to: (() throws -> Value).self)()
    }
  }

  /// Does the same for a callback that comes several times for each job.
  ///
  /// The body captures nothing, since it gets its data as an argument. So it needs no allocation. Nothing checks the
  /// argument: a pointer in it is valid only during the call.
  @inlinable @inline(__always)
  public static func assumeIsolated<Argument, Value>(
    with argument: Argument, _ body: @escaping @LoopActor (Argument) -> Value
  ) -> Value {
    EventLoop.process.checkIsolated()
    // The cast forgets no more than the cast above.
    return unsafeBitCast(body, to: ((Argument) -> Value).self)(argument)
  }
}
