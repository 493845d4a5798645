import Formats

/// What goes wrong on the way, by a seed: the same seed does the same to the notification with the same number.
struct NotificationFaults: Equatable, Sendable {
  /// The share of notifications that nobody ever posts.
  var lose = 0.0
  /// The share that is posted twice.
  var `repeat` = 0.0
  /// The share that is posted late.
  var delay = 0.0
  /// The shortest and the longest delay, and the longest time until a repetition, in milliseconds.
  var delays: ClosedRange<Int64> = 0...5_000
  /// Whether they are posted out of order.
  var isShuffling = false
  var seed: UInt64 = 0

  /// What happens to one notification.
  struct Fate: Equatable, Sendable {
    var isLost = false
    /// Whether Apple believes that a lost one was received.
    var isBelieved = false
    /// Milliseconds until the first attempt.
    var delay: Int64 = 0
    /// Milliseconds until it is posted again.
    var repetition: Int64?
  }

  /// How far one can get behind another when they are shuffled, in milliseconds.
  private static let shuffle: Int64 = 2_000

  /// Returns the fate of a notification.
  func fate(of number: Int) -> Fate {
    // Each number has numbers of its own, so one more notification does not change the fate of the others.
    var random = SeededRandom(seed: seed &+ UInt64(number) &* 0xd134_2543_de82_ef95)
    var fate = Fate()
    let (losing, repeating, delaying) = (random.unit(), random.unit(), random.unit())
    let (wait, pause) = (random.within(delays), random.within(delays))
    let (shuffled, belief) = (random.within(0...Self.shuffle), random.unit())
    if losing < lose {
      fate.isLost = true
      fate.isBelieved = belief < 0.5
      return fate
    }
    if repeating < self.repeat { fate.repetition = pause }
    if delaying < delay { fate.delay += wait }
    if isShuffling { fate.delay += shuffled }
    return fate
  }
}

extension SeededRandom {
  /// A number from 0 to less than 1.
  fileprivate mutating func unit() -> Double { Double.random(in: 0..<1, using: &self) }

  fileprivate mutating func within(_ range: ClosedRange<Int64>) -> Int64 { Int64.random(in: range, using: &self) }
}
