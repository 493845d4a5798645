import Domain
import Testing

/// How a job waits for any time with only a few queues.
struct JobDelayQueueTests {
  private static let now: Int64 = 1_700_000_000_000

  /// Follows a wait from queue to queue and returns the tiers, in seconds.
  private func way(_ wait: Duration, now: Int64 = now) -> [Int] {
    var tiers: [Int] = []
    var time = now
    var next: JobDelayQueue? = JobDelayQueue(wait, now: now)
    while let delay = next {
      tiers.append(Int(delay.tier / .seconds(1)))
      time += Int64(delay.tier / .milliseconds(1))
      next = JobDelayQueue(due: delay.due, now: time)
    }
    return tiers
  }

  @Test(
    arguments: [
      (-5, [1]), (0, [1]), (1, [1]), (999, [1]), (1000, [1]), (1001, [2]), (2000, [2]), (2001, [2, 1]), (3000, [2, 1]),
      (4000, [5]), (14_600, [10, 5]), (15_000, [10, 5]), (30_000, [30]), (31_000, [30, 2]), (55_000, [60]),
      (58_000, [60]), (61_000, [60, 5]), (120_000, [60, 60]), (280_000, [300]), (600_000, [300, 300]),
      (1_001_000, [300, 300, 300, 60, 60]), (1_700_000, [1800]), (3_600_000, [1800, 1800]),
    ] as [(Int, [Int])])
  func way(milliseconds: Int, tiers: [Int]) {
    #expect(way(.milliseconds(milliseconds)) == tiers)
  }

  @Test func `waits in a line are rounded less`() {
    for (asked, rough, fine) in [(701_000, 720_000, 705_000), (10_000_000, 10_200_000, 10_020_000)] {
      func end(_ isInLine: Bool) -> Int64? {
        JobDelayQueue(.milliseconds(asked), now: Self.now, isInLine: isInLine).due.map { $0 - Self.now }
      }
      #expect(end(false) == Int64(rough) && end(true) == Int64(fine))
    }
    for asked in stride(from: 1, through: 36_000, by: 7) {
      let delay = JobDelayQueue(.seconds(asked), now: Self.now, isInLine: true)
      let late = (delay.due ?? Self.now + Int64(delay.tier / .milliseconds(1))) - Self.now - Int64(asked) * 1000
      #expect(late >= 0 && late <= max(1000, Int64(asked) * 10))
    }
  }

  /// Every second and the milliseconds around it up to an hour, and then each minute up to a week.
  @Test func everyWaitEndsInTimeAndNoneTooEarly() {
    let short = (1...3600).flatMap { second in [-1, 0, 1, 357].map { second * 1000 + $0 } }
    let long = (60...10_080).map { $0 * 60_000 }
    for asked in short + long {
      let tiers = way(.milliseconds(asked))
      let late = tiers.reduce(0, +) * 1000 - asked
      #expect(late >= 0 && late <= max(1000, asked / 10), "\(asked) ms through \(tiers)")
      #expect(tiers.count <= 9 + asked / 1_800_000, "\(asked) ms through \(tiers)")
    }
  }

  @Test func theLastQueueEndsTheWaitWhateverTheClockSays() {
    #expect(JobDelayQueue(.seconds(30), now: Self.now).due == nil)
    #expect(JobDelayQueue(.milliseconds(200), now: Self.now).due == nil)
    #expect(JobDelayQueue(.seconds(31), now: Self.now).due == Self.now + 32_000)
  }

  @Test func whatIsDueWaitsNoMore() {
    #expect(JobDelayQueue(due: nil, now: Self.now) == nil)
    #expect(JobDelayQueue(due: Self.now, now: Self.now) == nil)
    #expect(JobDelayQueue(due: Self.now - 1, now: Self.now) == nil)
    #expect(JobDelayQueue(due: .min, now: Self.now) == nil)
    #expect(JobDelayQueue(due: Self.now + 1, now: Self.now)?.tier == .seconds(1))
  }

  @Test func aTimeFarOffIsNoTrap() {
    #expect(JobDelayQueue(due: .max, now: Self.now)?.tier == .seconds(1800))
    #expect(JobDelayQueue(due: .max, now: -1)?.tier == .seconds(1800))
    #expect(JobDelayQueue(.seconds(Int64.max), now: Self.now).due == Self.now + 30 * 86_400_000)
  }
}
