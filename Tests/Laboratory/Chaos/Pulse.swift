import EventLoop

/// Notices when the checker's own loop could not turn, for example because the machine is too busy.
@LoopActor
final class Pulse {
  private static let interval: Int64 = 20
  /// Shorter stalls do not matter.
  private static let least: Int64 = 100

  private var timer: LoopTimer?
  private var last = ContinuousClock.now

  /// Starts to watch the loop.
  ///
  /// - Parameter onStall: gets the milliseconds during which the loop did not turn.
  init(_ onStall: @escaping @LoopActor (Int64) -> Void) {
    timer = LoopTimer { [unowned self] in
      let now = ContinuousClock.now
      let late = Int64((now - last).wholeMilliseconds) - Self.interval
      last = now
      if late >= Self.least { onStall(late) }
    }
    timer?.start(after: .milliseconds(Self.interval), every: .milliseconds(Self.interval))
  }

  func stop() { timer?.close() }
}
