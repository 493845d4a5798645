import EventLoop

/// Notices when the checker's own loop was kept from turning, for example by a machine that has too much to do.
@LoopActor
final class Pulse {
  private static let interval: Int64 = 20
  /// Shorter ones are of no matter.
  private static let least: Int64 = 100

  private var timer: LoopTimer?
  private var last = ContinuousClock.now

  /// Starts to look.
  ///
  /// - Parameter onStall: gets the milliseconds for which nothing was looked at.
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
