import Testing

@testable import Notifier

/// How much of the loop's time bursts may use beside others.
struct BurstPaceTests {
  /// What a burst begins in a time, and the longest time between two of its deliveries.
  ///
  /// - Parameters:
  ///   - each: the processor time that a delivery costs, some time after it has begun.
  ///   - others: the part of the loop's time that others use.
  private func played(
    _ time: Duration, each: Duration, others: Double = 0, age: Duration = .zero
  ) -> (begun: Int, longestRest: Duration) {
    var pace = BurstPace()
    var (now, used, last, begun) = (Duration.zero, Duration.zero, Duration.zero, 0)
    var longest = Duration.zero
    while now < time {
      var owed = Duration.zero
      while pace.mayBegin(at: now, used: used, age: age + now) {
        begun += 1
        longest = max(longest, now - last)
        last = now
        owed += each
        // To begin one takes a moment, too.
        now += .microseconds(2)
        used += .microseconds(2)
      }
      let rest = max(pace.rest, owed)
      now += rest
      used += owed + rest * others
    }
    return (begun, longest)
  }

  @Test func `while a burst is published, few begin after each longest rest, whatever they cost`() {
    for cost in [Duration.microseconds(1), .microseconds(100), .milliseconds(1)] {
      let first = played(BurstPace.publication, each: cost)
      let each = BurstPace.publication / BurstPace.longestRest * Double(BurstPace.Stage.published.atOnce)
      // What nobody has used before lets some more begin.
      #expect(each - 60...each + 700 ~= Double(first.begun), "\(cost)")
      #expect(first.longestRest <= BurstPace.longestRest + BurstPace.tick)
    }
    #expect(played(.seconds(1), each: .microseconds(100)).begun < 500)
  }

  @Test func `after that, a burst beside little uses half of the loop`() {
    let age = BurstPace.publication
    // Ten thousand deliveries of 0.1 ms would take all of a second.
    #expect(4_800...5_300 ~= played(.seconds(1), each: .microseconds(100), age: age).begun)
    #expect(480...560 ~= played(.seconds(1), each: .milliseconds(1), age: age).begun)
  }

  @Test func `what others use is not left for a burst`() {
    #expect(800...2_200 ~= played(.seconds(1), each: .microseconds(100), others: 0.4, age: BurstPace.publication).begun)
  }

  @Test func `a burst that lasts gets nearly all of the loop`() {
    let later = played(.seconds(1), each: .microseconds(100), age: BurstPace.patience)
    #expect(8_200...9_200 ~= later.begun)
    // Two seconds at hardly anything, eight at half, ten at nine tenths.
    #expect(125_000...140_000 ~= played(.seconds(20), each: .microseconds(100)).begun)
  }

  @Test func `others who use the whole loop do not stop a burst, and it never rests for longer`() {
    let few = played(.seconds(1), each: .microseconds(100), others: 1)
    #expect(40 * BurstPace.Stage.published.atOnce...60 * BurstPace.Stage.published.atOnce ~= few.begun)
    #expect(few.longestRest <= BurstPace.longestRest + BurstPace.tick)
  }

  @Test func `however much time nobody used, few begin at once`() {
    var pace = BurstPace()
    var begun = 0
    while mayBegin(&pace, at: .seconds(3600), used: .zero), begun < 1_000 { begun += 1 }
    #expect(begun == BurstPace.Stage.published.atOnce && pace.rest == BurstPace.tick)
    #expect(mayBegin(&pace, at: .seconds(3600) + BurstPace.tick, used: BurstPace.most / 2))
    #expect(!mayBegin(&pace, at: .seconds(3600) + BurstPace.tick, used: BurstPace.most * 2))
    #expect(pace.rest > BurstPace.tick)
  }

  @Test func `a piece of work that takes long costs no more than the longest rest`() {
    var pace = BurstPace()
    #expect(mayBegin(&pace, at: .seconds(1), used: .zero))
    #expect(!mayBegin(&pace, at: .seconds(1), used: .seconds(100)))
    #expect(pace.rest == BurstPace.longestRest)
    #expect(mayBegin(&pace, at: .seconds(1) + BurstPace.longestRest, used: .seconds(100)))
  }

  private func mayBegin(_ pace: inout BurstPace, at now: Duration, used: Duration) -> Bool {
    pace.mayBegin(at: now, used: used, age: .zero)
  }
}
