import Testing

@testable import Service

/// The clock of the fleet, and Redis' time, which comes from outside.
struct FleetClockTests {
  private static let here: Int64 = 1_790_000_000_000

  @Test func `a difference counts from two seconds on, in both directions`() {
    let clock = FleetClock { Self.here }
    #expect(clock.learn(Self.here + 2000) == nil)
    #expect(clock.now() == Self.here)
    #expect(clock.learn(Self.here - 2001) == -2001)
    #expect(clock.now() == Self.here - 2001)
    #expect(clock.learn(Self.here) == 0)
    #expect(clock.now() == Self.here)
  }

  @Test(arguments: [Int64.min, Int64.min + 1, -1, 253_402_300_800_000, .max])
  func `no clock shows such a time, so it changes nothing`(time: Int64) {
    let clock = FleetClock { Self.here }
    #expect(clock.learn(time) == nil)
    #expect(clock.now() == Self.here)
  }
}
