import EventLoop

/// Tells on standard error how far an import is, every ten seconds.
@LoopActor
final class ImportProgress {
  private let isTold: Bool
  private let things: String
  private let count: Int
  private let began = ContinuousClock.now
  private var toldAt = ContinuousClock.now
  /// How many an earlier run had done.
  var before: Int

  init(of things: String = "rows", _ count: Int, before: Int = 0, isTold: Bool) {
    (self.things, self.count, self.before, self.isTold) = (things, count, before, isTold)
  }

  func tell(done: Int) {
    guard isTold, ContinuousClock.now - toldAt >= .seconds(10) else { return }
    toldAt = .now
    let seconds = max(1, (toldAt - began).components.seconds)
    let now = max(0, done - before)
    let left = now == 0 ? "unknown" : Self.time(Int64(count - done) * seconds / Int64(now))
    complain("\(done) of \(count) \(things), \(now / Int(seconds)) a second, time left: \(left)")
  }

  /// A time in the two largest units.
  nonisolated static func time(_ seconds: Int64) -> String {
    switch seconds {
    case ..<120: "\(seconds) s"
    case ..<7200: "\(seconds / 60) min"
    default: "\(seconds / 3600) h \(seconds % 3600 / 60) min"
    }
  }
}
