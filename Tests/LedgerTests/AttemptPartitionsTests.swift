import Testing

@testable import Ledger

/// Which days of the log of attempts must be created and dropped.
struct AttemptPartitionsTests {
  @Test func `a day has a name, and a name a day`() {
    #expect(AttemptPartitions.name(0) == "attempts_1970_01_01")
    #expect(AttemptPartitions.name(20_779) == "attempts_2026_11_22")
    #expect(AttemptPartitions.day("attempts_2026_11_22") == 20_779)
    for name in ["attempts_2026_11_31", "attempts_2026_1_2", "attempts_x", "attempts", "other_2026_11_22"] {
      #expect(AttemptPartitions.day(name) == nil, "\(name)")
    }
    #expect(AttemptPartitions.start(20_779) == "2026-11-22T00:00:00.000Z")
  }

  @Test func `days from yesterday to next week are made, and older ones than the retention go`() {
    let existing = [97, 98, 99, 100, 101].map(AttemptPartitions.name) + ["attempts_archive"]
    let plan = AttemptPartitions(today: 101, existing: existing, retention: 2)
    #expect(plan.missing == Array(102...108))
    #expect(plan.old == [AttemptPartitions.name(97), AttemptPartitions.name(98)])
    // Yesterday stays, however short the retention: an attempt of yesterday may be written today.
    #expect(AttemptPartitions(today: 101, existing: existing, retention: 0).old.count == 3)
    #expect(AttemptPartitions(today: 101, existing: [], retention: 2).missing == Array(100...108))
  }
}
