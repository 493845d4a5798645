import Domain
import Testing

@testable import Worker

/// Which lanes a look of the sweep looks at, and when the next look comes.
struct SweepFillingTests {
  private let start = ContinuousClock.now
  private var filling = SweepFilling()

  private mutating func round(after seconds: Double) -> SweepFilling.Round {
    filling.begin(at: start + .seconds(seconds), every: .seconds(30))
  }

  @Test mutating func `without anything to fill, each look is at everything`() {
    for seconds in [0, 1, 30.0] {
      #expect(round(after: seconds) == .init(lanes: JobLane.allCases, isWhole: true))
    }
    #expect(filling.pause == nil)
  }

  @Test mutating func `between two looks at everything, only lanes that it fills are looked at`() {
    _ = round(after: 0)
    filling.note(.milliseconds(200), of: .bulk)
    #expect(filling.isFilling(.bulk) && !filling.isFilling(.usual) && filling.pause == .milliseconds(200))
    #expect(round(after: 29.9) == .init(lanes: [.bulk], isWhole: false))
    #expect(round(after: 30) == .init(lanes: JobLane.allCases, isWhole: true))
    #expect(round(after: 59) == .init(lanes: [.bulk], isWhole: false))
    filling.note(nil, of: .bulk)
    #expect(round(after: 59.5) == .init(lanes: JobLane.allCases, isWhole: true))
  }

  @Test mutating func `the next look comes after the shortest pause`() {
    filling.note(.milliseconds(200), of: .bulk)
    filling.note(.zero, of: .usual)
    #expect(filling.pause == .zero)
    filling.note(nil, of: .usual)
    #expect(filling.pause == .milliseconds(200))
  }
}
