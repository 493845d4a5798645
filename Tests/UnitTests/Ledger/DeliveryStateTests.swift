import Domain
import Testing

@testable import Ledger

/// What is to be done about a delivery, by what the ledger has of it.
struct DeliveryStateTests {
  private func state(attempt: Int = 2, _ change: (inout DeliveryState.Facts) -> Void) -> DeliveryState {
    var facts = DeliveryState.Facts(attempt: attempt)
    change(&facts)
    return DeliveryState(facts)
  }

  @Test(arguments: [
    (1, DeliveryState.open), (2, .open), (3, .made(.failed, nextAt: 77)), (4, .superseded),
  ])
  func `the row tells the next attempt`(next: Int, expected: DeliveryState) {
    #expect(state { $0.row = (next, 77) } == expected)
  }

  @Test func `without a row the log and the event decide`() {
    #expect(state { $0.isUnseen = true } == .open)
    #expect(state { _ in } == .open)
    #expect(state { $0.isKnownEvent = true } == .superseded)
    for outcome in [DeliveryAttempt.Outcome.delivered, .abandoned, .skipped] {
      let made = state { facts in
        facts.isKnownEvent = true
        facts.logged = (2, outcome, nil)
      }
      #expect(made == .made(outcome, nextAt: nil))
    }
    // Another round has delivered the event since.
    let failed = state { facts in
      facts.isKnownEvent = true
      facts.logged = (2, .failed, 77)
    }
    #expect(failed == .superseded)
    #expect(state { $0.logged = (2, .failed, 77) } == .made(.failed, nextAt: 77))
    #expect(state { $0.logged = (3, .failed, 77) } == .superseded)
  }

  @Test func `a deleted or disabled endpoint gets no attempt, and the end of an earlier one still counts`() {
    #expect(state { $0.hasEndpoint = false } == .gone)
    #expect(state { $0.isDisabled = true } == .disabled)
    let made = state { facts in
      facts.row = (3, 77)
      facts.isDisabled = true
    }
    #expect(made == .made(.failed, nextAt: 77))
  }
}
