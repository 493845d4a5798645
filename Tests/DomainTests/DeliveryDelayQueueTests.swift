import Domain
import Testing

/// How a delivery waits for any time with only a few queues.
struct DeliveryDelayQueueTests {
  private let now: Int64 = 1_000_000

  @Test func whatIsDueWaitsNoMore() {
    #expect(DeliveryDelayQueue(due: nil, now: now) == nil)
    #expect(DeliveryDelayQueue(due: now, now: now) == nil)
    #expect(DeliveryDelayQueue(due: 0, now: now) == nil)
    #expect(DeliveryDelayQueue(due: .min, now: now) == nil)
  }

  @Test(
    arguments: [
      (1000, 1), (1999, 1), (2000, 2), (4999, 2), (5000, 5), (9999, 5), (10_000, 10), (29_999, 10), (30_000, 30),
      (299_999, 60), (300_000, 300), (1_799_999, 300), (1_800_000, 1800), (86_400_000, 1800),
    ] as [(Int64, Int)])
  func theLongestThatIsNotTooLong(left: Int64, seconds: Int) {
    #expect(DeliveryDelayQueue(due: now + left, now: now) == .tier(.seconds(seconds)))
  }

  @Test func theLastSecondPassesOnTheLoop() {
    #expect(DeliveryDelayQueue(due: now + 999, now: now) == .onLoop(.milliseconds(999)))
    #expect(DeliveryDelayQueue(due: now + 1, now: now) == .onLoop(.milliseconds(1)))
  }

  @Test func aTimeFarOffIsNoTrap() {
    #expect(DeliveryDelayQueue(due: .max, now: 0) == .tier(.seconds(1800)))
    #expect(DeliveryDelayQueue(due: .max, now: now) == .tier(.seconds(1800)))
  }

  /// Every wait ends on time, in few steps.
  @Test(arguments: [1, 4567, 77_000, 345_678, 7_200_000, 103_680_000] as [Int64]) func everyWayEnds(left: Int64) {
    var (time, steps) = (now, 0)
    while let delay = DeliveryDelayQueue(due: now + left, now: time) {
      switch delay {
      case .onLoop(let wait), .tier(let wait): time += Int64(wait / .milliseconds(1))
      }
      steps += 1
    }
    #expect(time == now + left)
    #expect(steps < 75)
  }

  @Test func waitsForPersonsGrow() {
    #expect(
      [-1, 0, 1, 2, 3, 4, .max].map(DeliveryDelayQueue.mending) == [1, 1, 5, 30, 60, 300, 300].map { .seconds($0) })
  }

  @Test func postponementGrows() {
    #expect(
      [-1, 0, 1, 2, 3, 4, .max].map(DeliveryDelayQueue.postponement) == [1, 1, 5, 30, 60, 60, 60].map { .seconds($0) })
  }
}
