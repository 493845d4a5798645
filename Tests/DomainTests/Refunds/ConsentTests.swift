import Testing

@testable import Domain

/// The time of a customer's decision.
struct ConsentTests {
  private let now: Int64 = 1_700_000_000_000

  private func kept(at offset: Int64, isGiven: Bool = true) -> Consent? {
    Consent(isGiven: isGiven, textVersion: "2026-01", time: now + offset).kept(at: now)
  }

  @Test func `a decision of the past keeps its time`() {
    for offset in [Int64(-86_400_000), -1, 0] {
      #expect(kept(at: offset) == Consent(isGiven: true, textVersion: "2026-01", time: now + offset))
    }
  }

  @Test(arguments: [true, false]) func `a clock may be ahead by five minutes, and its decision counts now`(
    isGiven: Bool
  ) {
    for offset in [Int64(1), 300_000] {
      #expect(
        kept(at: offset, isGiven: isGiven) == Consent(isGiven: isGiven, textVersion: "2026-01", time: now))
    }
    #expect(kept(at: 300_001, isGiven: isGiven) == nil)
    #expect(Consent(isGiven: isGiven, textVersion: "2026-01", time: .max).kept(at: now) == nil)
  }
}
